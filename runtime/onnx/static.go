//go:build static || !(linux || darwin) || !(amd64 || arm64)

package onnx

import "errors"

// errStatic says that this program cannot open libraries.
var errStatic = errors.New("this program cannot open libraries: build it without the tag static, for Linux " +
	"or macOS on amd64 or arm64")

// Library is onnxruntime, which this program cannot open.
type Library struct{}

// Open returns an error.
func Open(string) (*Library, error) { return nil, errStatic }

// Version returns "".
func (*Library) Version() string { return "" }

func (*Library) newSession([]byte) (uintptr, error) { return 0, errStatic }

func (*Library) release(int, uintptr) {}

const releaseSession = 0

type tensors struct{}

func (*tensors) add(*Library, []byte, int, int, []float32) error { return errStatic }

func (*tensors) run(*Library, uintptr) error { return errStatic }

func (*tensors) release(*Library) {}

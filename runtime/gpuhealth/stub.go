//go:build !cgo || !linux || static

package gpuhealth

import "tandem/runtime/metrics"

// Watch reads the state of some GPUs; there is none in this program.
type Watch struct{}

// Open returns ErrNotBuilt.
func Open(string, []string) (*Watch, error) { return nil, ErrNotBuilt }

// Driver returns "".
func (*Watch) Driver() string { return "" }

// Read returns nothing.
func (*Watch) Read() ([]metrics.GPU, error) { return nil, nil }

// Close does nothing.
func (*Watch) Close() error { return nil }

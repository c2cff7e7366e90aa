// Package replay records what happens to the roles of a run and runs them
// again.
//
// # What is recorded
//
// A role is a function of its inputs, and work of one lane takes effect in the
// order of issue. So a run is determined by the sequence of inputs that each
// role took, whatever happened between roles, and a recording is that: for
// every role instance a stream of (now, input, fingerprint of the payload,
// outputs). A crash is in it as the Start of the next incarnation. Payloads and parameters are not in it; a replay computes them anew
// from the job and its data, and the fingerprints say where they first differ.
//
// # Format
//
// A stream is a line of text, "tandem recording 2", whose number is the version
// of the format, and then blocks:
//
//	kind (1 byte) · length of the body (4 bytes) · body · CRC-32C of all blocks up to here (4 bytes)
//
// The first block is the Header, the last the end mark, with the number of
// inputs and a digest of the parameters that the role held; those between hold
// steps. A stream without an end mark is cut short. Numbers are little-endian.
// Bodies are as the codec writes them, and the Header holds a digest of the
// types it was built for, so that a Tandem whose messages have other fields
// refuses the stream.
//
// # Bounds
//
// A stream may come from anywhere. Every length in it is checked against what is left before memory is
// made, so reading takes at most 16 bytes of memory for every byte of the stream, and 128 KiB. Every role,
// rank, step and count of an input is checked against the recorded configuration before a role sees it
// (check.go): what is out of range is an error with file, offset and field.
package replay

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"reflect"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

const (
	title   = "tandem recording "
	version = "2"
)

// Errors that a caller may test for. They are wrapped with the stream's name.
var (
	// ErrFormat says that a stream is no recording that this Tandem can read.
	ErrFormat = errors.New("not a recording that this Tandem reads")
	// ErrCutShort says that a stream ends before its end mark: its process did not
	// finish, or the copy is not complete.
	ErrCutShort = errors.New("the recording is cut short")
	// ErrDamaged says that a stream was changed after it was written.
	ErrDamaged = errors.New("the recording is damaged")
)

// Header says whose stream it is, and of which run.
type Header struct {
	Role msg.Address
	// Incarnation is the one that the stream begins with: 0 unless the role's process was killed and came back.
	// Injected crashes are in the stream itself.
	Incarnation uint32
	// Job is the resolved job of the run, as YAML; this package does not look
	// into it. All streams of a run have the same.
	Job []byte
	// Config is what the roles agreed on, without its Rule: that is in Job.
	Config role.Config
}

// Step is one input of a role and what the role made of it.
type Step struct {
	Now     unit.Tick
	Input   role.Input
	Payload uint64 // exec.Fingerprint of the message's payload; 0 without
	number  uint64 // of the input in its stream, from 1
	outputs []byte // encoded
}

// paid reports whether an input comes with a payload.
func paid(in *role.Input) bool { return in.Kind == role.Received && in.Message.Kind.HasPayload() }

// Outputs yields what the role asked for, in order, then an error if the rest cannot be decoded. Only one
// output is in memory at a time: 2 bytes of a stream can stand for one, of some 400 bytes.
func (s *Step) Outputs() iter.Seq2[role.Output, error] {
	return func(yield func(role.Output, error) bool) {
		d := decode(s.outputs)
		n := d.uvarint()
		var o role.Output
		for i := uint64(0); i < n && !d.failed; i++ {
			o = role.Output{}
			if d.value(reflect.ValueOf(&o).Elem()); d.failed {
				d.inside(fmt.Sprintf("[%d]", i))
			} else if !yield(o, nil) {
				return
			}
		}
		if !d.failed && len(d.src) > 0 {
			d.fail(fmt.Sprintf("%d bytes after the last", len(d.src)))
		}
		if d.failed {
			d.inside("outputs")
			yield(role.Output{}, fmt.Errorf("%s: %s", d.field, d.why))
		}
	}
}

// appendOutputs appends the encoding by which outputs are compared.
func appendOutputs(dst []byte, out []role.Output) []byte {
	return appendValue(dst, reflect.ValueOf(&out).Elem())
}

// block kinds
const (
	headerBlock = 'H'
	stepsBlock  = 'S'
	endBlock    = 'E'
)

// blockLimit is above what any block holds; a longer one is a damaged length.
const blockLimit = 1 << 26

// prelude is the body of the first block.
type prelude struct {
	Shape  uint64 // of the types in the stream
	Header Header
}

// end is the body of the last block.
type end struct {
	Inputs uint64
	Digest uint64
}

// shape is a digest of the types in a stream of this Tandem. Whoever appends a field to one of them, or to a
// type within, changes it, and nothing else needs to be done here.
var shape = func() uint64 {
	h := fnv.New64a()
	for _, t := range []reflect.Type{reflect.TypeFor[prelude](), reflect.TypeFor[role.Input](), reflect.TypeFor[role.Output]()} {
		h.Write([]byte(shapeOf(t)))
	}
	return h.Sum64()
}()

// Package replay records what happens to the roles of a run and runs them
// again.
//
// # What is recorded
//
// A role is a function of its inputs, and work of one lane takes effect in the order of issue. So the
// sequence of inputs of each role determines a run. A recording has a stream for every role instance, with
// (now, input, fingerprint of the payload, outputs) of each step. A crash is recorded as the Start of the
// next incarnation. Payloads and parameters are not recorded; a replay computes them from the job and its
// data, and the fingerprints show where they first differ.
//
// # Use
//
// A driver writes the stream of each role with a Writer: runtime/record has one for a folder of files. New
// joins the streams, opened as Readers, to a Recording. Recording.Replay runs the roles and their work again
// and compares outputs and parameters with the recording; Recording.Events runs the roles without their work
// and yields the records of the run in causal order.
//
// # Format
//
// A stream is a line of text, "tandem recording 3", whose number is the version
// of the format, and then blocks:
//
//	kind (1 byte) · length of the body (4 bytes) · body · CRC-32C of all blocks up to here (4 bytes)
//
// The first block is the Header. The last is the end mark, with the number of inputs and a digest of the
// role's parameters. The blocks between have the steps. A stream without an end mark is cut short. Integers
// are little-endian. The codec writes the bodies. The Header has a digest of the recorded types, so that a
// build of Tandem whose messages have other fields refuses the stream.
//
// # Bounds
//
// A stream need not be trusted. Every length is checked against the rest of the stream before memory is
// allocated, so reading takes at most 16 bytes of memory for every byte of the stream, and 128 KiB. Every
// role, rank, step and count of an input is checked against the recorded configuration before a role receives
// it (check.go): a value that is out of range is an error with file, offset and field.
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
	version = "3"
)

// Errors of reading, wrapped with the name of the stream.
var (
	// ErrFormat: a stream is not a recording, or one of a format that this build of Tandem cannot read.
	ErrFormat = errors.New("not a recording that this Tandem reads")
	// ErrCutShort: a stream ends before its end mark, because its process did not finish or the copy is
	// incomplete.
	ErrCutShort = errors.New("the recording is cut short")
	// ErrDamaged: a stream was changed after it was written.
	ErrDamaged = errors.New("the recording is damaged")
)

// Header names the role and the run of a stream.
type Header struct {
	Role msg.Address
	// Incarnation is the first incarnation in the stream: 0 unless the role's process was killed and came
	// back. Injected crashes are recorded as inputs.
	Incarnation uint32
	// Job is the resolved job of the run, as YAML, the same in all streams of a run. This package does not
	// parse it.
	Job []byte
	// Config is the configuration of the roles, without its Rule, which follows from Job.
	Config role.Config
}

// Step is one input of a role, with the outputs that the role returned.
type Step struct {
	Now     unit.Tick
	Input   role.Input
	Payload uint64 // exec.Fingerprint of the message's payload; 0 without
	number  uint64 // of the input in its stream, from 1
	outputs []byte // encoded
}

// paid reports whether an input comes with a payload.
func paid(in *role.Input) bool { return in.Kind == role.Received && in.Message.Kind.HasPayload() }

// Outputs yields the outputs of the role in order, then an error if the rest cannot be decoded. Only one
// output is in memory at a time, because 2 bytes of a stream can encode an output of some 400 bytes.
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

// blockLimit is larger than any block; a longer one has a damaged length.
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
	for _, t := range []reflect.Type{reflect.TypeFor[prelude](), reflect.TypeFor[role.Input](),
		reflect.TypeFor[role.Output]()} {
		h.Write([]byte(shapeOf(t)))
	}
	return h.Sum64()
}()

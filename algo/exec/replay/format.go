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
	version = "4"
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
	number  uint64 // of the input, from 1
	begins  bool   // it is the first input of a process
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

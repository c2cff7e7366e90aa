package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"strings"

	"tandem/algo/unit"
)

// Reader reads the stream of one role.
type Reader struct {
	r      io.Reader
	name   string
	header Header
	crc    uint32
	block  int // number of the one in hand, for errors
	steps  decoder
	now    unit.Tick
	inputs uint64
	end    *end // once it is read
}

// NewReader reads the head of a stream. The name stands in errors, which wrap
// ErrFormat, ErrCutShort, ErrDamaged or the error of r.
func NewReader(r io.Reader, name string) (*Reader, error) {
	reader := &Reader{r: r, name: name}
	if err := reader.readTitle(); err != nil {
		return nil, err
	}
	kind, body, err := reader.readBlock()
	if err != nil {
		return nil, err
	}
	var first prelude
	d := decoder{src: body}
	shapeField := reflect.ValueOf(&first.Shape).Elem()
	// The shape is read first, for the rest may be of another.
	bits := d.take(1)
	if kind != headerBlock || len(bits) == 0 || bits[0]&1 == 0 {
		return nil, reader.fault(ErrDamaged, "it does not begin with its header")
	}
	if d.value(shapeField); first.Shape != shape {
		return nil, reader.fault(ErrFormat, "its roles had other messages, work or events; replay it with the Tandem that recorded it")
	}
	d, first = decoder{src: body}, prelude{}
	if d.value(reflect.ValueOf(&first).Elem()); d.failed || len(d.src) > 0 {
		return nil, reader.fault(ErrDamaged, "its header is none")
	}
	reader.header = first.Header
	return reader, nil
}

// Header returns whose stream it is.
func (r *Reader) Header() Header { return r.header }

// Next returns the next step, io.EOF after the last. Other errors are as those
// of NewReader.
func (r *Reader) Next() (*Step, error) {
	for len(r.steps.src) == 0 {
		if r.end != nil {
			return nil, io.EOF
		}
		if err := r.readSteps(); err != nil {
			return nil, err
		}
	}
	s := &Step{}
	d := &r.steps
	r.now += unit.Tick(d.varint())
	s.Now = r.now
	d.value(reflect.ValueOf(&s.Input).Elem())
	if paid(&s.Input) {
		if b := d.take(8); b != nil {
			s.Payload = binary.LittleEndian.Uint64(b)
		}
	}
	s.outputs = d.take(d.uvarint())
	if d.failed {
		return nil, r.fault(ErrDamaged, "input %d cannot be read", r.inputs+1)
	}
	r.inputs++
	s.number = r.inputs
	return s, nil
}

// readSteps reads the next block of steps, or the end mark.
func (r *Reader) readSteps() error {
	kind, body, err := r.readBlock()
	if err != nil {
		return err
	}
	d := decoder{src: body}
	switch kind {
	case stepsBlock:
		r.steps = d
		return nil
	case endBlock:
		last := &end{}
		if d.value(reflect.ValueOf(last).Elem()); d.failed || len(d.src) > 0 || last.Inputs != r.inputs {
			return r.fault(ErrDamaged, "its end mark counts %d inputs, it has %d", last.Inputs, r.inputs)
		}
		if n, _ := io.ReadFull(r.r, make([]byte, 1)); n > 0 {
			return r.fault(ErrDamaged, "there is more after its end mark")
		}
		r.end = last
		return nil
	}
	return r.fault(ErrDamaged, "block %d is of unknown kind %q", r.block, kind)
}

// readTitle reads the first line.
func (r *Reader) readTitle() error {
	line := make([]byte, 0, len(title)+8)
	for len(line) < cap(line) {
		var b [1]byte
		if _, err := io.ReadFull(r.r, b[:]); err != nil && strings.HasPrefix(title+version, string(line)) {
			return r.ended(err)
		} else if err != nil {
			break
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	number, ok := strings.CutPrefix(string(line), title)
	switch {
	case !ok:
		return r.fault(ErrFormat, "it does not begin with %q", title)
	case number != version:
		return r.fault(ErrFormat, "it is in version %s of the format, this Tandem reads version %s", number, version)
	}
	return nil
}

// readBlock reads the next block and checks that it is as it was written.
func (r *Reader) readBlock() (kind byte, body []byte, err error) {
	r.block++
	var head [blockHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, r.ended(err)
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size > blockLimit {
		return 0, nil, r.fault(ErrDamaged, "block %d claims %d bytes", r.block, size)
	}
	body = make([]byte, size+4)
	if _, err := io.ReadFull(r.r, body); err != nil {
		return 0, nil, r.ended(err)
	}
	body, sum := body[:size], binary.LittleEndian.Uint32(body[size:])
	r.crc = crc32.Update(crc32.Update(r.crc, castagnoli, head[:]), castagnoli, body)
	if r.crc != sum {
		return 0, nil, r.fault(ErrDamaged, "block %d is not as it was written (checksum)", r.block)
	}
	return head[0], body, nil
}

// ended is the error of a stream that ends too early.
func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fault(ErrCutShort, "it ends after %d inputs without an end mark; its process did not finish, or was not copied whole", r.inputs)
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

func (r *Reader) fault(kind error, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", r.name, kind, fmt.Sprintf(format, args...))
}

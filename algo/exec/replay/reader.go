package replay

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"strings"

	"tandem/algo/unit"
)

// Reader reads the stream of one role.
type Reader struct {
	r      io.ReadSeeker
	name   string
	header Header
	first  mark // behind the header
	crc    uint32
	block  int   // number of the one in hand, for errors
	offset int64 // in the stream, of what is read next
	steps  decoder
	start  int64 // in the stream, of the steps in hand
	now    unit.Tick
	inputs uint64
	end    *end    // once it is read
	later  *Reader // of the next incarnation of the role, whose process was killed; nil: none
}

// mark is a place between two blocks of a stream.
type mark struct {
	offset int64
	crc    uint32
}

// NewReader reads the header of a stream, which begins at the current offset of r. A replay reads the rest
// twice. Errors begin with name and wrap ErrFormat, ErrCutShort, ErrDamaged or the error of r.
func NewReader(r io.ReadSeeker, name string) (*Reader, error) {
	reader := &Reader{r: r, name: name}
	if err := reader.readTitle(); err != nil {
		return nil, err
	}
	kind, body, err := reader.readBlock()
	if err != nil {
		return nil, err
	}
	if kind != headerBlock {
		return nil, reader.fault(ErrDamaged, "it does not begin with its header")
	}
	reader.first = mark{reader.offset, reader.crc}
	return reader, reader.readHeader(body)
}

// rewind goes back to the first step.
func (r *Reader) rewind() error {
	if _, err := r.r.Seek(r.first.offset-r.offset, io.SeekCurrent); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	*r = Reader{r: r.r, name: r.name, header: r.header, first: r.first, offset: r.first.offset,
		crc: r.first.crc, block: 1, later: r.later}
	return nil
}

// readHeader reads the body of the first block.
func (r *Reader) readHeader(body []byte) error {
	var first prelude
	d := decode(body)
	// The shape is read first, for the rest may be of another.
	bits := d.next(1)
	if len(bits) == 0 || bits[0]&1 == 0 {
		return r.fault(ErrDamaged, "it does not begin with its header")
	}
	if d.value(reflect.ValueOf(&first.Shape).Elem()); first.Shape != shape {
		return r.fault(ErrFormat,
			"its roles had other messages, work or events; replay it with the Tandem that recorded it")
	}
	d, first = decode(body), prelude{}
	if err := d.whole(reflect.ValueOf(&first).Elem()); err != nil {
		return r.fault(ErrDamaged, "its header: byte %d: %v", r.bodyStart(body)+int64(d.at), err)
	}
	if err := checkHeader(&first.Header); err != nil {
		return r.fault(ErrDamaged, "its header: %v", err)
	}
	r.header = first.Header
	return nil
}

// Header returns the header of the stream.
func (r *Reader) Header() Header { return r.header }

// Next returns the next step, or io.EOF after the last. Other errors are as in NewReader.
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
	begin := d.size - len(d.src)
	s.Now = r.now + unit.Tick(d.varint())
	if d.value(reflect.ValueOf(&s.Input).Elem()); d.failed {
		d.inside("input")
	}
	if paid(&s.Input) {
		if b := d.next(8); b != nil {
			s.Payload = binary.LittleEndian.Uint64(b)
		}
	}
	s.outputs = d.next(d.uvarint())
	if d.failed {
		return nil, r.fault(ErrDamaged, "byte %d, input %d: %s: %s",
			r.start+int64(d.at), r.inputs+1, cmp.Or(d.field, "its time or outputs"), d.why)
	}
	if err := checkInput(&s.Input, r.header.Role, &r.header.Config); err != nil {
		return nil, r.fault(ErrDamaged, "byte %d, input %d: %v", r.start+int64(begin), r.inputs+1, err)
	}
	r.now = s.Now
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
	d := decode(body)
	switch kind {
	case stepsBlock:
		r.steps, r.start = d, r.bodyStart(body)
		return nil
	case endBlock:
		last := &end{}
		if err := d.whole(reflect.ValueOf(last).Elem()); err != nil || last.Inputs != r.inputs {
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
	r.offset = int64(len(line)) + 1
	number, ok := strings.CutPrefix(string(line), title)
	switch {
	case !ok:
		return r.fault(ErrFormat, "it does not begin with %q", title)
	case number != version:
		return r.fault(ErrFormat, "it is in version %s of the format, this Tandem reads version %s: "+
			"replay it with the Tandem that recorded it, or record the run again", number, version)
	}
	return nil
}

// readBlock reads the next block and verifies its checksum.
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
	if body, err = readGrowing(r.r, int(size)+4); err != nil {
		return 0, nil, r.ended(err)
	}
	r.offset += blockHead + int64(len(body))
	body, sum := body[:size], binary.LittleEndian.Uint32(body[size:])
	r.crc = crc32.Update(crc32.Update(r.crc, castagnoli, head[:]), castagnoli, body)
	if r.crc != sum {
		return 0, nil, r.fault(ErrDamaged, "block %d is not as it was written (checksum)", r.block)
	}
	return head[0], body, nil
}

// readGrowing reads n bytes. Memory grows with the bytes that are read, not with n.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	var all []byte
	for len(all) < n {
		more := min(n-len(all), max(len(all), 2*blockSize))
		all = slices.Grow(all, more)
		read, err := io.ReadFull(r, all[len(all):len(all)+more])
		if all = all[:len(all)+read]; err != nil {
			return nil, err
		}
	}
	return all, nil
}

// bodyStart returns where in the stream the body of the last block begins.
func (r *Reader) bodyStart(body []byte) int64 { return r.offset - 4 - int64(len(body)) }

// ended returns the error of a stream that ends too early.
func (r *Reader) ended(err error) error {
	const why = "the process was killed, the run failed, or the file was not copied whole"
	switch {
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %w", r.name, err)
	case r.header.Config.Ranks == 0:
		return r.fault(ErrCutShort, "it ends before the name of its role; %s", why)
	}
	return r.fault(ErrCutShort, "%v has no end mark after its %d inputs; %s", r.header.Role, r.inputs, why)
}

func (r *Reader) fault(kind error, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", r.name, kind, fmt.Sprintf(format, args...))
}

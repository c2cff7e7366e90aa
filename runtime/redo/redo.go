package redo

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/internal/filelock"
	"tandem/runtime/wire"
)

const (
	magic      = "tandemRL"
	version    = 2
	countAt    = len(magic) + 8 + len(wire.RunID{}) + 4
	headerSize = countAt + 12
	entrySize  = 16 // before the body
	bodyLeast  = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Log has the inputs of one role. Its methods are for one goroutine.
type Log struct {
	file    *os.File
	entries uint64 // that were kept
	entry   []byte // scratch
}

// header returns the first bytes of the Log of a role, before the number of entries.
func header(run wire.RunID, of msg.Address) []byte {
	h := binary.LittleEndian.AppendUint32([]byte(magic), version)
	h = binary.LittleEndian.AppendUint32(h, uint32(of.Role))
	return binary.LittleEndian.AppendUint32(append(h, run[:]...), uint32(of.Index))
}

// appendCount appends a number of entries, with its sum.
func appendCount(to []byte, entries uint64) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, entries)
	return binary.LittleEndian.AppendUint32(to, crc32.Checksum(to[at:], castagnoli))
}

// Create makes an empty Log for a role of a run. It replaces a file that exists.
func Create(name string, run wire.RunID, of msg.Address) (*Log, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("redo log: %w", err)
	}
	if err := filelock.Try(file); err != nil {
		return nil, errors.Join(fmt.Errorf("redo log %s: another process writes to it: %w", name, err),
			file.Close())
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.Write(appendCount(header(run, of), 0))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redo log: %w", err), file.Close())
	}
	return &Log{file: file}, nil
}

// Open opens the Log that an earlier process of a run has left for a role. Replay must be called next. It is
// an error if that process hangs: it still has the file, and would write to it when it goes on.
func Open(name string, run wire.RunID, of msg.Address) (*Log, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("redo log: %w", err)
	}
	if err := filelock.Try(file); err != nil {
		return nil, errors.Join(fmt.Errorf("redo log %s: the process before still has it: %w", name, err),
			file.Close())
	}
	begins := make([]byte, headerSize)
	_, err = io.ReadFull(file, begins)
	entries := binary.LittleEndian.Uint64(begins[countAt:])
	switch {
	case err != nil || !bytes.Equal(begins[:countAt], header(run, of)):
		err = fmt.Errorf("it is not of version %d, or of another run or role", version)
	case !bytes.Equal(begins, appendCount(begins[:countAt:countAt], entries)):
		err = errors.New("the number of its entries is damaged")
	default:
		return &Log{file: file, entries: entries}, nil
	}
	return nil, errors.Join(fmt.Errorf("redo log %s: %w", name, err), file.Close())
}

// Keep adds an input that a role handles at a time. Its payload is nil if it is no message or one without. An
// input that cannot be kept must not be performed.
func (l *Log) Keep(now unit.Tick, in *role.Input, payload exec.Payload) error {
	entry := append(l.entry[:0], make([]byte, entrySize)...)
	entry = append(entry, byte(in.Kind), byte(in.Work.Kind), 0, 0, 0, 0, 0, 0)
	entry = binary.LittleEndian.AppendUint64(entry, uint64(now))
	if in.Kind == role.Received {
		frame, err := wire.Encode(wire.Identity{}, in.Message, payload)
		if err != nil {
			return err
		}
		for _, s := range frame.Segments {
			entry = append(entry, s...)
		}
	}
	body := entry[entrySize:]
	binary.LittleEndian.PutUint32(entry, uint32(len(body)))
	binary.LittleEndian.PutUint32(entry[4:], crc32.Checksum(body, castagnoli))
	binary.LittleEndian.PutUint32(entry[8:], crc32.Checksum(entry[:8], castagnoli))
	_, err := l.file.Write(entry)
	if l.entry = entry; err == nil {
		l.entries++
		_, err = l.file.WriteAt(appendCount(entry[:0], l.entries), int64(countAt))
	}
	if err != nil {
		return fmt.Errorf("redo log: %w; save the model more often, or keep the log where there is more room",
			err)
	}
	return nil
}

// Replay calls each with every input that was kept, in order, and with the payload of its message. Of the
// work of an input only the kind is known. A payload is not reused. After Replay the Log can keep further
// inputs.
//
// Cost: one pass over the file, and memory for its largest entry.
func (l *Log) Replay(each func(now unit.Tick, in *role.Input, payload exec.Payload) error) error {
	about, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("redo log: %w", err)
	}
	r := bufio.NewReaderSize(l.file, 1<<20)
	for at, entries := int64(headerSize), uint64(0); ; entries++ {
		now, in, payload, size, err := l.read(r, about.Size()-at)
		switch {
		case errors.Is(err, errTorn) && entries < l.entries:
			return fmt.Errorf("redo log %s: it ends after %d of %d entries: the file is damaged",
				l.file.Name(), entries, l.entries)
		case errors.Is(err, errTorn):
			l.entries = entries
			return l.goOn(at)
		case err != nil:
			return fmt.Errorf("redo log %s, at byte %d: %w", l.file.Name(), at, err)
		}
		if err := each(now, in, payload); err != nil {
			return err
		}
		at += size
	}
}

var (
	errTorn    = errors.New("the entry is cut short")
	errDamaged = errors.New("the entry is damaged: its sum is another")
)

// read reads the next entry, of a number of bytes at most.
func (l *Log) read(r io.Reader, most int64) (now unit.Tick, in *role.Input, payload exec.Payload, size int64,
	err error) {
	var head [entrySize]byte
	switch _, err := io.ReadFull(r, head[:]); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return 0, nil, nil, 0, errTorn
	case err != nil:
		return 0, nil, nil, 0, err
	}
	length := int(binary.LittleEndian.Uint32(head[:]))
	switch {
	case crc32.Checksum(head[:8], castagnoli) != binary.LittleEndian.Uint32(head[8:]) || length < bodyLeast:
		return 0, nil, nil, 0, errDamaged
	case int64(length) > most-entrySize:
		return 0, nil, nil, 0, errTorn
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, nil, 0, err
	}
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, nil, 0, errDamaged
	}
	in = &role.Input{Kind: role.InputKind(body[0])}
	in.Work.Kind = role.WorkKind(body[1])
	if in.Kind == role.Received {
		h, got, rest, err := wire.Decode(body[bodyLeast:])
		if err != nil {
			return 0, nil, nil, 0, err
		}
		if len(rest) > 0 {
			return 0, nil, nil, 0, fmt.Errorf("%d bytes after a message", len(rest))
		}
		in.Message, payload = h.Message, got
	}
	now = unit.Tick(binary.LittleEndian.Uint64(body[bodyLeast-8:]))
	return now, in, payload, int64(entrySize + length), nil
}

// goOn makes the next entry begin at a byte, where none is complete.
func (l *Log) goOn(at int64) error {
	if err := l.file.Truncate(at); err != nil {
		return fmt.Errorf("redo log: %w", err)
	}
	if _, err := l.file.Seek(at, io.SeekStart); err != nil {
		return fmt.Errorf("redo log: %w", err)
	}
	return nil
}

// Name returns the name of the file.
func (l *Log) Name() string { return l.file.Name() }

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

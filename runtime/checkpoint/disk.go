package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// fileSystem has the operations that write a checkpoint. Tests replace it by one that fails, or that ends the
// process, at any of them.
type fileSystem interface {
	Mkdir(name string) error
	Create(name string) (file, error)
	Rename(from, to string) error
	// Link gives a file a second name, in another folder.
	Link(file, name string) error
	RemoveAll(name string) error
	// SyncFolder writes the names in a folder through to the disk.
	SyncFolder(name string) error
}

// file is a file that is being written.
type file interface {
	io.Writer
	// Sync writes the content through to the disk.
	Sync() error
	Close() error
}

// disk is the file system of the machine.
type disk struct{}

func (disk) Mkdir(name string) error      { return os.Mkdir(name, 0o777) }
func (disk) Rename(from, to string) error { return os.Rename(from, to) }
func (disk) Link(file, name string) error { return os.Link(file, name) }
func (disk) RemoveAll(name string) error  { return os.RemoveAll(name) }

func (disk) Create(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return &diskFile{File: f}, err
}

// diskFile is a file that the kernel writes to the disk while more is written to it.
type diskFile struct {
	*os.File
	written, started int64 // bytes; started: those whose way to the disk has begun
}

// writebackBytes is how many bytes are sent to the disk at a time.
const writebackBytes = 8 << 20

func (f *diskFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if f.written += int64(n); f.written-f.started >= writebackBytes {
		startWriteback(f.File, f.started, f.written-f.started)
		f.started = f.written
	}
	return n, err
}

func (disk) SyncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// writeFile creates a file of a folder, which content writes, and returns its size and checksum. The file is
// on the disk when writeFile returns.
func writeFile(fs fileSystem, folder, name string, content func(io.Writer) error) (File, error) {
	out, err := fs.Create(filepath.Join(folder, name))
	if err != nil {
		return File{}, describe(name, err)
	}
	sums := &summed{out: out, hash: sha256.New()}
	buffered := bufio.NewWriterSize(sums, 1<<20)
	err = content(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return File{}, describe(name, err)
	}
	return File{name, sums.written, hex.EncodeToString(sums.hash.Sum(nil))}, nil
}

// summed computes the checksum of what it writes.
type summed struct {
	out     io.Writer
	hash    hash.Hash
	written int64
}

// Write computes the checksum while it writes.
func (s *summed) Write(p []byte) (int, error) {
	hashed := make(chan struct{})
	go func() {
		s.hash.Write(p) // never fails
		close(hashed)
	}()
	n, err := s.out.Write(p) // if it fails, nothing reads the checksum
	<-hashed
	s.written += int64(n)
	return n, err
}

// describe returns an error that names a file but not the temporary folder that it is in.
func describe(name string, err error) error {
	var call *os.PathError
	if errors.As(err, &call) {
		err = call.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// sumOf returns the checksum of bytes.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

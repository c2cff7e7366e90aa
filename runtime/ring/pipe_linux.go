package ring

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is a pipe between the ends of a ring, as one of them sees it.
type pipe struct {
	// fd is the end to write. The end that waits has it, too, so that there is no end of file.
	fd     int
	file   *os.File // the end to read; nil at the end of the ring that does not wait here
	buffer []byte
}

// noPipe has nothing that is open.
var noPipe = pipe{fd: -1}

// waitingAt returns the pipe at which this end waits, with its two ends.
func waitingAt(read, write int) pipe {
	return pipe{fd: write, file: os.NewFile(uintptr(read), "bell"), buffer: make([]byte, 64)}
}

// wait waits for a byte, and takes the bytes that are there, of which more than one can only be from earlier
// rings.
func (p *pipe) wait() { _, _ = p.file.Read(p.buffer) } // an error ends a wait as a byte does

// write writes a byte, unless the pipe is full and none is needed.
func (p *pipe) write() { _, _ = unix.Write(p.fd, []byte{1}) } // the other end may be gone

// interrupt ends all waits from now on. A pipe always takes a deadline.
func (p *pipe) interrupt() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) }

// close closes what is open, when this end does not wait.
func (p *pipe) close() {
	if p.file != nil {
		_ = p.file.Close() // nothing was written to it
	}
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
	*p = noPipe
}

// pipeName identifies a pipe: an open end of it in the process that offers a ring, and its number in the
// system.
type pipeName struct{ fd, inode uint64 }

// newPipe makes a pipe and returns its ends.
func newPipe() (read, write int, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return -1, -1, fmt.Errorf("ring: cannot make a pipe: %w", err)
	}
	return ends[0], ends[1], nil
}

// nameOf returns the name of a pipe that has an end open.
func nameOf(fd int) (pipeName, error) {
	var info unix.Stat_t
	err := unix.Fstat(fd, &info)
	return pipeName{uint64(fd), info.Ino}, err
}

// openPipe opens an end of a pipe of another process.
func openPipe(pid uint64, name pipeName, flags int) (fd int, err error) {
	// Its link is read first: to open a file has effects if it is not the one that was meant.
	path := processFile(pid, name.fd)
	if link, err := os.Readlink(path); err != nil || link != fmt.Sprintf("pipe:[%d]", name.inode) {
		return -1, fmt.Errorf("ring: %s is not the pipe of a ring", path)
	}
	for {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == nil {
			return fd, nil
		}
		if err != unix.EINTR {
			return -1, fmt.Errorf("ring: cannot open the pipe of another process: %w", err)
		}
	}
}

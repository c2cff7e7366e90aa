package ring

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// create makes the memory of a ring, and what offers it.
func create(capacity int) (*Writer, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	token := hex.EncodeToString(random[:])
	fd, err := unix.MemfdCreate(memoryName(token), unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("ring: cannot create shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), memoryName(token))
	// The kernel creates it with all rights, and only its checks of processes keep other users out.
	if err := file.Chmod(0o600); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("ring: cannot keep shared memory to this user: %w", err)
	}
	memory, err := prepare(fd, capacity)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	w := &Writer{end: newEnd(memory), offer: fmt.Sprintf("%s/%d/%d/%s", boot, os.Getpid(), fd, token)}
	h := w.header()
	h.magic, h.capacity = magic, uint64(capacity)
	w.own.word, w.other.word = &h.writerBell, &h.readerBell
	read, err := w.makePipes()
	w.accepted = sync.OnceFunc(func() { // what Open needs was not written to
		_ = file.Close()
		if read >= 0 {
			_ = unix.Close(read)
		}
	})
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// makePipes makes the pipes of both bells and names them in the memory. It returns the end of the Reader's
// pipe that Open opens; −1 if there is none.
func (w *Writer) makePipes() (read int, err error) {
	w.own.pipe, w.other.pipe = noPipe, noPipe
	read, write, err := newPipe()
	if err != nil {
		return -1, err
	}
	w.other.pipe.fd = write
	ownRead, ownWrite, err := newPipe()
	if err != nil {
		return read, err
	}
	w.own.pipe = waitingAt(ownRead, ownWrite)
	h := w.header()
	if h.readerPipe, err = nameOf(read); err != nil {
		return read, err
	}
	h.writerPipe, err = nameOf(ownWrite)
	return read, err
}

// prepare sets the size of a memfd, reserves and maps it.
func prepare(fd, capacity int) ([]byte, error) {
	size := int64(headerSize + capacity)
	if err := reserve(fd, size); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("ring: cannot seal shared memory: %w", err)
	}
	return mapped(fd, size)
}

// reserve takes the memory of a memfd from the system, so that no access can lack it.
func reserve(fd int, size int64) error {
	for {
		switch err := unix.Fallocate(fd, 0, 0, size); err {
		case nil:
			return nil
		case unix.EINTR: // by a signal, such as those of Go's scheduler
		default:
			return fmt.Errorf("ring: no %d KiB of shared memory: %w", size>>10, err)
		}
	}
}

// seals are those without which a mapping could lose its memory.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

func mapped(fd int, size int64) ([]byte, error) {
	memory, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("ring: cannot map shared memory: %w", err)
	}
	return memory, nil
}

func unmap(memory []byte) { _ = unix.Munmap(memory) } // it was mapped

func memoryName(token string) string { return "tandem-ring-" + token }

// bootID identifies this machine since its start.
var bootID = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
})

// open maps the memory of a ring that was offered.
func open(offer string) (*Reader, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	fields := strings.Split(offer, "/")
	if len(fields) != 4 {
		return nil, fmt.Errorf("ring: %.100q is not the offer of a ring", offer)
	}
	if fields[0] != boot {
		return nil, ErrElsewhere
	}
	pid, err1 := strconv.ParseUint(fields[1], 10, 31)
	fd, err2 := strconv.ParseUint(fields[2], 10, 31)
	token, err3 := hex.DecodeString(fields[3])
	if errors.Join(err1, err2, err3) != nil || len(token) != 16 {
		return nil, fmt.Errorf("ring: %.100q is not the offer of a ring", offer)
	}
	// The name is read first: to open a file has effects if it is not the one that was meant.
	path := processFile(pid, fd)
	name, err := os.Readlink(path)
	if err != nil {
		return nil, fmt.Errorf("ring: cannot reach the memory of process %d: %w", pid, err)
	}
	if name != "/memfd:"+memoryName(fields[3])+" (deleted)" {
		return nil, fmt.Errorf("ring: %s is not the memory of a ring", path)
	}
	memory, err := openMemory(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{end: newEnd(memory), spinsMax: spinsAllowed()}
	h := r.header()
	r.own.word, r.other.word = &h.readerBell, &h.writerBell
	if err := r.openPipes(pid); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// openPipes opens the pipes that are named in the memory.
func (r *Reader) openPipes(pid uint64) error {
	r.own.pipe, r.other.pipe = noPipe, noPipe
	h := r.header()
	read, err := openPipe(pid, h.readerPipe, unix.O_RDONLY)
	if err != nil {
		return err
	}
	r.own.pipe = waitingAt(read, -1)
	if r.own.pipe.fd, err = openPipe(pid, h.readerPipe, unix.O_WRONLY); err != nil {
		return err
	}
	r.other.pipe.fd, err = openPipe(pid, h.writerPipe, unix.O_WRONLY)
	return err
}

func processFile(pid, fd uint64) string { return fmt.Sprintf("/proc/%d/fd/%d", pid, fd) }

// openMemory maps the memory of a ring, whose size must be sealed.
func openMemory(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("ring: cannot open the memory of another process: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	capacity := info.Size() - headerSize
	has, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || has&seals != seals || capacity < sizeMin || capacity > sizeMax ||
		capacity&(capacity-1) != 0 {
		return nil, fmt.Errorf("ring: %s is not the memory of a ring", path)
	}
	if err := reserve(int(file.Fd()), info.Size()); err != nil { // the other end may not have done it
		return nil, err
	}
	memory, err := mapped(int(file.Fd()), info.Size())
	if err != nil {
		return nil, err
	}
	if h := (*header)(unsafe.Pointer(unsafe.SliceData(memory))); h.magic != magic ||
		h.capacity != uint64(capacity) {
		unmap(memory)
		return nil, fmt.Errorf("ring: %s is the memory of a ring of another build", path)
	}
	return memory, nil
}

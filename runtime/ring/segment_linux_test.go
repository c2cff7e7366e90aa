package ring

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An offer is opened only if all of it is what New has made: the name of the memory, its seals, its size and
// its header.
func TestOpenRefuses(t *testing.T) {
	w, err := New(sizeMin)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fields := strings.Split(w.Offer(), "/")
	other, token := strings.Repeat("5a", 16), fields[3]
	offer := func(machine, pid, fd, token any) string {
		return fmt.Sprintf("%v/%v/%v/%v", machine, pid, fd, token)
	}
	memfd := func(name string, size int64, seal int, content string) int {
		fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := unix.Ftruncate(fd, size); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Pwrite(fd, []byte(content), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seal); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	boot, pid, size := fields[0], fields[1], int64(headerSize+sizeMin)
	good := string([]byte{0x74, 0x6e, 0x64, 0x6d, 0x69, 0x6e, 0x67, 0x31, 0, 16, 0, 0, 0, 0, 0, 0})
	for _, c := range []struct{ offer, want string }{
		{"", "not the offer"},
		{offer(boot, "x", fields[2], token), "not the offer"},
		{offer(boot, pid, "-1", token), "not the offer"},
		{offer(boot, pid, fields[2], token[2:]), "not the offer"},
		{offer("elsewhere", pid, fields[2], token), "another machine"},
		{offer(boot, pid, fields[2], other), "not the memory of a ring"},
		{offer(boot, pid, file.Fd(), other), "not the memory of a ring"},
		{offer(boot, pid, 1<<30, token), "no such file"},
		{offer(boot, pid, memfd(memoryName(other), size, unix.F_SEAL_SHRINK, good), other), "not the memory"},
		{offer(boot, pid, memfd(memoryName(other), size-1, seals, good), other), "not the memory"},
		{offer(boot, pid, memfd(memoryName(other), 100, seals, good), other), "not the memory"},
		{offer(boot, pid, memfd(memoryName(other), size, seals, "x"), other), "of another build"},
		{offer(boot, pid, memfd(memoryName(other), 2*size-headerSize, seals, good), other),
			"of another build"},
	} {
		if _, err := Open(c.offer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.offer, err, c.want)
		}
	}
	r, err := Open(w.Offer())
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Accepted()
	if _, err := Open(w.Offer()); err == nil {
		t.Error("it can be opened after it was accepted")
	}
}

// Memory that names other files than the pipes of a ring is refused, and they are not opened.
func TestOpenRefusesOtherPipes(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, change := range []func(h *header){
		func(h *header) { h.readerPipe.fd = uint64(file.Fd()) },
		func(h *header) { h.readerPipe.inode++ },
		func(h *header) { h.writerPipe = h.readerPipe; h.writerPipe.inode-- },
		func(h *header) { h.writerPipe.fd = 1 << 40 },
	} {
		w, err := New(sizeMin)
		if err != nil {
			t.Fatal(err)
		}
		change(w.header())
		before := openFiles(t)
		_, err = Open(w.Offer())
		if err == nil || !strings.Contains(err.Error(), "is not the pipe of a ring") {
			t.Errorf("%+v: %v", w.header().readerPipe, err)
		}
		if after := openFiles(t); after != before {
			t.Errorf("%d files are open, %d before", after, before)
		}
		w.Close()
	}
}

// openFiles returns the number of files that this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// Memory that cannot be reserved is an error, not a fault later.
func TestTooLittleMemory(t *testing.T) {
	file, err := os.Open("/dev/null") // it has no memory
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, err = prepare(int(file.Fd()), sizeMin)
	if err == nil || !strings.Contains(err.Error(), "ring: no 8 KiB of shared memory: ") {
		t.Error(err)
	}
}

// Tokens are those of this process alone: hexadecimal, and different.
func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		w, err := New(sizeMin)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		token := w.Offer()[strings.LastIndex(w.Offer(), "/")+1:]
		if b, err := hex.DecodeString(token); err != nil || len(b) != 16 || seen[token] {
			t.Error(token, err)
		}
		seen[token] = true
	}
}

// Memory and pipes of a ring have rights for the user who made them, and for no other.
func TestRingsAreOfOneUser(t *testing.T) {
	w, err := New(sizeMin)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	h, fd := w.header(), uint64(0)
	if _, err := fmt.Sscan(strings.Split(w.Offer(), "/")[2], &fd); err != nil {
		t.Fatal(err)
	}
	for name, fd := range map[string]uint64{"memory": fd, "pipe of the reader": h.readerPipe.fd,
		"pipe of the writer": h.writerPipe.fd} {
		var info unix.Stat_t
		if err := unix.Fstat(int(fd), &info); err != nil {
			t.Fatal(err)
		}
		if info.Mode&0o777 != 0o600 || int(info.Uid) != os.Getuid() {
			t.Errorf("%s: rights %o, user %d", name, info.Mode&0o777, info.Uid)
		}
	}
}

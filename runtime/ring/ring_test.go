package ring

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pair returns both ends of a ring.
func pair(t testing.TB, capacity int) (*Writer, *Reader) {
	t.Helper()
	w, err := New(capacity)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(w.Offer())
	if err != nil {
		t.Fatal(err)
	}
	w.Accepted()
	t.Cleanup(func() {
		w.Close()
		r.Close()
	})
	return w, r
}

// isWaiting reports whether an end waits.
func isWaiting(e *end) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting
}

// write writes all bytes.
func write(t testing.TB, w *Writer, b []byte) {
	for len(b) > 0 {
		n, err := w.TryWrite([][]byte{b}, 0)
		if err == nil && n == 0 {
			err = w.WaitForRoom()
		}
		if err != nil {
			t.Error(err)
			return
		}
		b = b[n:]
	}
}

// Bytes arrive unchanged and in order, in pieces of any sizes at either end, many times around the ring.
func TestBytesArriveInOrder(t *testing.T) {
	w, r := pair(t, sizeMin)
	random := rand.New(rand.NewPCG(1, 2))
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(random.Uint32())
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		rest, sizes := sent, rand.New(rand.NewPCG(3, 4))
		for len(rest) > 0 {
			n := min(1+sizes.IntN(3*sizeMin), len(rest))
			write(t, w, rest[:n])
			rest = rest[n:]
		}
	})
	received := make([]byte, 0, len(sent))
	for len(received) < len(sent) {
		n, err := r.Read(received[len(received):min(len(received)+1+random.IntN(2*sizeMin), len(sent))])
		if err != nil {
			t.Fatal(err)
		}
		received = received[:len(received)+n]
	}
	wait.Wait()
	if !bytes.Equal(received, sent) {
		t.Error("other bytes arrived")
	}
}

// A full ring does not make TryWrite wait, and WaitForRoom returns when a quarter is free.
func TestFullRing(t *testing.T) {
	w, r := pair(t, sizeMin)
	segments := [][]byte{make([]byte, sizeMin-10), make([]byte, 100)}
	if n, err := w.TryWrite(segments, 50); n != sizeMin || err != nil {
		t.Fatal(n, err)
	}
	if n, err := w.TryWrite([][]byte{{1}}, 0); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	free := make(chan error)
	go func() { free <- w.WaitForRoom() }()
	for !isWaiting(&w.end) {
		runtime.Gosched()
	}
	buffer := make([]byte, sizeMin)
	read := func(count int) {
		if n, err := r.Read(buffer[:count]); n != count || err != nil {
			t.Fatal(n, err)
		}
	}
	read(sizeMin/4 - 1)
	select {
	case err := <-free:
		t.Fatal("there is room before a quarter is free:", err)
	default:
	}
	read(1)
	if err := <-free; err != nil {
		t.Error(err)
	}
}

// Segments are written as if they were one, from any byte on, however they lie in the ring.
func TestSegments(t *testing.T) {
	w, r := pair(t, sizeMin)
	segments, want := [][]byte{[]byte("abc"), nil, []byte("d"), []byte("efgh")}, []byte("abcdefgh")
	buffer := make([]byte, sizeMin)
	for skip := range len(want) + 1 {
		for range sizeMin / 3 { // also around the end of the ring
			if n, err := w.TryWrite(segments, skip); n != len(want)-skip || err != nil {
				t.Fatal(n, err)
			}
			if skip == len(want) {
				continue
			}
			if n, err := r.Read(buffer); string(buffer[:n]) != string(want[skip:]) || err != nil {
				t.Fatalf("%q from %d on: %v", buffer[:n], skip, err)
			}
		}
	}
}

// A Reader that waits is woken by bytes, by End and by Close, and a Writer that waits by Close.
func TestWaitsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		wake func(w *Writer, r *Reader)
		want error
	}{
		"bytes": {func(w *Writer, _ *Reader) { _, _ = w.TryWrite([][]byte{{7}}, 0) }, nil},
		"end":   {func(_ *Writer, r *Reader) { r.End() }, io.EOF},
		"close": {func(_ *Writer, r *Reader) { r.Close() }, ErrClosed},
	} {
		w, r := pair(t, sizeMin)
		done := make(chan error)
		go func() {
			_, err := r.Read(make([]byte, 10))
			done <- err
		}()
		for !isWaiting(&r.end) {
			runtime.Gosched()
		}
		c.wake(w, r)
		if err := <-done; err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	w, _ := pair(t, sizeMin)
	write(t, w, make([]byte, sizeMin))
	done := make(chan error)
	go func() { done <- w.WaitForRoom() }()
	for !isWaiting(&w.end) {
		runtime.Gosched()
	}
	w.Close()
	if err := <-done; err != ErrClosed {
		t.Error(err)
	}
}

// After End, what was written before is read, and nothing that is written later.
func TestEnd(t *testing.T) {
	w, r := pair(t, sizeMin)
	write(t, w, []byte("before"))
	r.End()
	write(t, w, []byte("after"))
	if got, err := io.ReadAll(r); string(got) != "before" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A closed end says so.
func TestClosedEnds(t *testing.T) {
	w, r := pair(t, sizeMin)
	for range 2 {
		w.Close()
		r.Close()
	}
	if _, err := w.TryWrite([][]byte{{1}}, 0); err != ErrClosed {
		t.Error(err)
	}
	if err := w.WaitForRoom(); err != ErrClosed {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != ErrClosed {
		t.Error(err)
	}
	r.End()
}

// Positions that cannot be are noticed by either end, before they are used.
func TestCorruptPositions(t *testing.T) {
	for _, ahead := range []uint64{sizeMin + 1, 1 << 40, ^uint64(0)} {
		w, r := pair(t, sizeMin)
		write(t, w, make([]byte, 100))
		if _, err := io.ReadFull(r, make([]byte, 50)); err != nil {
			t.Fatal(err)
		}
		w.header().written.Store(50 + ahead)
		if _, err := r.Read(make([]byte, 1)); err != ErrCorrupt {
			t.Errorf("written %d ahead: %v", ahead, err)
		}
		w.header().read.Store(100 - ahead)
		if _, err := w.TryWrite([][]byte{{1}}, 0); err != ErrCorrupt {
			t.Errorf("read %d behind: %v", ahead, err)
		}
		if err := w.WaitForRoom(); err != ErrCorrupt {
			t.Errorf("read %d behind: %v", ahead, err)
		}
	}
	// Positions that were possible once are not, either.
	w, r := pair(t, sizeMin)
	write(t, w, make([]byte, 100))
	if _, err := r.Read(make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	write(t, w, make([]byte, 1))
	w.header().read.Store(10)
	if _, err := w.TryWrite([][]byte{{1}}, 0); err != ErrCorrupt {
		t.Errorf("read went backwards: %v", err)
	}
	w.header().written.Store(70)
	if _, err := r.Read(make([]byte, 1)); err != ErrCorrupt {
		t.Errorf("written went backwards: %v", err)
	}
}

// An end that writes anything to the memory at any time makes the other end neither panic nor run for ever.
func FuzzOtherEnd(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, uint64(3), uint64(77))
	f.Add(make([]byte, 5000), uint64(1<<63), ^uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, written, read uint64) {
		w, r := pair(t, sizeMin)
		_, _ = w.TryWrite([][]byte{data}, 0) // what does not fit is left out
		w.header().written.Store(written)
		r.End()
		buffer := make([]byte, 2*sizeMin)
		for sum := 0; ; {
			n, err := r.Read(buffer)
			if sum += n; sum > sizeMin {
				t.Fatalf("%d bytes are read", sum)
			}
			if err != nil {
				break
			}
		}
		w.header().read.Store(read)
		if n, err := w.TryWrite([][]byte{data, data}, len(data)/2); n > sizeMin {
			t.Fatal(n, err)
		}
	})
}

// An end that is closed or ended is woken, also if the other end has written to its bell.
func TestOtherEndCannotHoldAWait(t *testing.T) {
	for name, c := range map[string]struct {
		write uint32
		wake  func(*Reader)
		want  error
	}{
		"not rung": {0, (*Reader).Close, ErrClosed}, "announced": {1, (*Reader).Close, ErrClosed},
		"end": {0, (*Reader).End, io.EOF},
	} {
		w, r := pair(t, sizeMin)
		done := make(chan error)
		go func() {
			_, err := r.Read(make([]byte, 10))
			done <- err
		}()
		for !isWaiting(&r.end) {
			runtime.Gosched()
		}
		w.header().readerBell.Store(c.write)
		c.wake(r)
		if err := <-done; err != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The memory is unmapped when its end is closed and waits no longer, and not before.
func TestCloseUnmaps(t *testing.T) {
	w, r := pair(t, sizeMin)
	done := make(chan error)
	go func() {
		_, err := r.Read(make([]byte, 10))
		done <- err
	}()
	for !isWaiting(&r.end) {
		runtime.Gosched()
	}
	w.Close()
	r.Close()
	<-done
	if w.memory != nil || r.memory != nil {
		t.Error("the memory is mapped")
	}
}

// With one processor for goroutines, a Reader does not spin before it waits: others may run once.
func TestOneProcessorDoesNotSpin(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if n := spinsAllowed(); n != 1 {
		t.Errorf("%d looks", n)
	}
	runtime.GOMAXPROCS(2)
	if n := spinsAllowed(); n != spinsMax {
		t.Errorf("%d looks", n)
	}
}

// The number of looks follows what they have brought.
func TestLooksAdapt(t *testing.T) {
	w, r := pair(t, sizeMin)
	r.spinsMax = spinsMax
	one := make([]byte, 1)
	for range 10 {
		if n, err := r.spin(one); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	if r.spins != 1 {
		t.Errorf("%d looks after 10 failures", r.spins)
	}
	r.spins = 40
	write(t, w, []byte{1}) // what is there before the first look needs no more of them
	if n, err := r.spin(one); n != 1 || err != nil || r.spins != 40 {
		t.Errorf("%d bytes that were there, error %v, %d looks after 40", n, err, r.spins)
	}
	go write(t, w, []byte{1})
	for {
		before := r.spins
		n, err := r.spin(one)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && r.spins != max(before/2, 1) ||
			n > 0 && r.spins != before && r.spins != min(2*before, spinsMax) {
			t.Errorf("%d looks after %d", r.spins, before)
		}
		if n > 0 {
			return
		}
	}
}

// BenchmarkRoundTrip sends a header of a message there and back.
func BenchmarkRoundTrip(b *testing.B) {
	w1, r1 := pair(b, DefaultSize)
	w2, r2 := pair(b, DefaultSize)
	go func() {
		buffer := make([]byte, 72)
		for {
			n, err := r1.Read(buffer)
			if err != nil {
				return
			}
			write(b, w2, buffer[:n])
		}
	}()
	buffer := make([]byte, 72)
	for b.Loop() {
		write(b, w1, buffer)
		if _, err := io.ReadFull(r2, buffer); err != nil {
			b.Fatal(err)
		}
	}
	r1.Close()
}

// BenchmarkStream sends in one direction, 1 MiB at a time.
func BenchmarkStream(b *testing.B) {
	w, r := pair(b, DefaultSize)
	const size = 1 << 20
	b.SetBytes(size)
	go func() {
		buffer := make([]byte, size)
		for range b.N {
			write(b, w, buffer)
		}
	}()
	buffer := make([]byte, size)
	for range b.N {
		if _, err := io.ReadFull(r, buffer); err != nil {
			b.Fatal(err)
		}
	}
}

// An end looks much longer while other goroutines use the processors than when none does.
func TestEndsLookWhileOthersWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var done atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for !done.Load() {
			for start := time.Now(); time.Since(start) < 4*busy; {
			}
			runtime.Gosched()
		}
	})
	calls := 0
	looks, found := look(3, func() bool {
		calls++
		return calls == 20
	})
	done.Store(true)
	others.Wait()
	if !found || looks > 3 {
		t.Errorf("found %t after %d calls and %d looks", found, calls, looks)
	}
	if looks, found := look(3, func() bool { return false }); found || looks != 3 {
		t.Errorf("found %t after %d looks, want none after 3", found, looks)
	}
}

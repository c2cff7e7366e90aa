package cuda_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// Variables of a child process that is one rank.
const rankVariable, idVariable = "TANDEM_TEST_RANK", "TANDEM_TEST_ID"

func TestMain(m *testing.M) {
	if os.Getenv(rankVariable) != "" {
		childRank()
		return
	}
	os.Exit(m.Run())
}

// rank is a device with a communicator and a buffer.
type rank struct {
	device       *cuda.Device
	stream       *cuda.Stream
	communicator *cuda.Communicator
	memory       cuda.Memory
}

const collectiveNumbers = 200_000 // more than the software GPU's ranks exchange at once

func newRank(driver *cuda.Driver, id cuda.UniqueID, ranks, n int) *rank {
	r := &rank{device: must(driver.Open(n))}
	r.stream = must(r.device.NewStream())
	// Later, to take memory might be to wait for ranks that wait for this one.
	r.memory = must(r.device.Alloc(4 * collectiveNumbers))
	r.communicator = must(r.device.NewCommunicator(context.Background(), id, ranks, n))
	return r
}

func (r *rank) close() {
	for _, err := range []error{r.device.Free(r.memory), r.communicator.Close(), r.stream.Close(),
		r.device.Close()} {
		if err != nil {
			panic(err)
		}
	}
}

// set writes value + i%10 to number i, and get reads all numbers.
func (r *rank) set(value float32) {
	x := make([]float32, collectiveNumbers)
	for i := range x {
		x[i] = value + float32(i%10)
	}
	if err := errors.Join(r.stream.CopyIn(r.memory.Address, cuda.Bytes(x)), r.stream.Sync()); err != nil {
		panic(err)
	}
	runtime.KeepAlive(x)
}

func (r *rank) get() []float32 {
	x := make([]float32, collectiveNumbers)
	if err := errors.Join(r.stream.CopyOut(cuda.Bytes(x), r.memory.Address), r.stream.Sync()); err != nil {
		panic(err)
	}
	runtime.KeepAlive(x)
	return x
}

// exercise performs every collective and returns what is wrong with the result.
func (r *rank) exercise(ranks, n int) error {
	c, address := r.communicator, r.memory.Address
	r.set(float32(n))
	if err := c.AllReduce(r.stream, address, address, collectiveNumbers, cuda.F32); err != nil {
		return err
	}
	for i, got := range r.get() {
		if want := float32(ranks*(ranks-1)/2 + ranks*(i%10)); got != want {
			return fmt.Errorf("all-reduce: number %d is %v, want %v", i, got, want)
		}
	}
	r.set(float32(n))
	const part = 1000
	if err := c.AllGather(r.stream, address, address.Floats(10*part), part, cuda.F32); err != nil {
		return err
	}
	for i, got := range r.get()[10*part : (10+ranks)*part] {
		if want := float32(i/part + i%10); got != want {
			return fmt.Errorf("all-gather: number %d is %v, want %v", i, got, want)
		}
	}
	r.set(float32(n))
	if err := c.Broadcast(r.stream, address, collectiveNumbers, cuda.F32, ranks-1); err != nil {
		return err
	}
	if got := r.get()[collectiveNumbers-1]; got != float32(ranks-1+9) {
		return fmt.Errorf("broadcast: the last number is %v, want %v", got, ranks-1+9)
	}
	return errors.Join(r.exchange(ranks, n), c.Err())
}

// exchange sends (n+1)·(peer+1)·1000 numbers to each rank, itself included, but none to the rank after it.
func (r *rank) exchange(ranks, n int) error {
	r.set(float32(n))
	count := func(from, to int) int {
		if to == from+1 {
			return 0
		}
		return (from + 1) * (to + 1) * 1000
	}
	with, at := make([]cuda.Transfer, ranks), r.memory.Address.Floats(collectiveNumbers/2)
	for peer := range with {
		with[peer] = cuda.Transfer{Send: r.memory.Address, SendBytes: 4 * count(n, peer), Receive: at,
			ReceiveBytes: 4 * count(peer, n)}
		at = at.Floats(count(peer, n))
	}
	if err := r.communicator.Exchange(r.stream, with); err != nil {
		return err
	}
	got := r.get()[collectiveNumbers/2:]
	for peer := range ranks {
		for i := range count(peer, n) {
			if want := float32(peer + i%10); got[i] != want {
				return fmt.Errorf("exchange: number %d of rank %d is %v, want %v", i, peer, got[i], want)
			}
		}
		got = got[count(peer, n):]
	}
	return nil
}

func TestCollectivesOfThreads(t *testing.T) {
	const ranks = 3
	driver := softgpu.Open(t, ranks)
	id := must(driver.UniqueID())
	if got := must(driver.CollectivesVersion()); got != "2.20.5" {
		t.Errorf("version %s", got)
	}
	var running sync.WaitGroup
	for n := range ranks {
		running.Go(func() {
			r := newRank(driver, id, ranks, n)
			if err := r.exercise(ranks, n); err != nil {
				t.Errorf("rank %d: %v", n, err)
			}
			r.close()
		})
	}
	running.Wait()
}

// TestCollectivesOfOneRank runs where there is one GPU, too.
func TestCollectivesOfOneRank(t *testing.T) {
	driver := softgpu.Open(t, 1)
	for range 2 { // the second after an abort
		r := newRank(driver, must(driver.UniqueID()), 1, 0)
		if err := r.exercise(1, 0); err != nil {
			t.Error(err)
		}
		if err := r.communicator.Abort(); err != nil {
			t.Error(err)
		}
		r.close()
	}
}

// childRank is rank TANDEM_TEST_RANK of 2, in a process that finds the libraries by their usual names.
func childRank() {
	n := must(strconv.Atoi(os.Getenv(rankVariable)))
	var id cuda.UniqueID
	must(hex.Decode(id[:], []byte(os.Getenv(idVariable))))
	driver := must(cuda.Open(cuda.Libraries{}))
	r := newRank(driver, id, 2, n)
	if err := r.exercise(2, n); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r.close()
	fmt.Print("good")
}

func TestCollectivesOfProcesses(t *testing.T) {
	id := must(softgpu.Open(t, 2).UniqueID())
	var running sync.WaitGroup
	for n := range 2 {
		command := exec.Command(must(os.Executable()))
		command.Env = append(softgpu.Environment(t, 2), fmt.Sprint(rankVariable, "=", n),
			idVariable+"="+hex.EncodeToString(id[:]))
		running.Go(func() {
			if out, err := command.CombinedOutput(); err != nil || !bytes.Equal(out, []byte("good")) {
				t.Errorf("rank %d: %v\n%s", n, err, out)
			}
		})
	}
	running.Wait()
}

func TestDuplicateDevices(t *testing.T) {
	driver := softgpu.Open(t, 1)
	id := must(driver.UniqueID())
	var running sync.WaitGroup
	var explained atomic.Int32
	for n := range 2 {
		running.Go(func() {
			device := must(driver.Open(0))
			defer device.Close()
			_, err := device.NewCommunicator(t.Context(), id, 2, n)
			want := fmt.Sprintf("rank %d of 2: cuda:0: ncclCommInitRankConfig: invalid usage (run with "+
				"NCCL_DEBUG=WARN for details) (", n) // only one rank learns why
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			explained.Add(int32(strings.Count(fmt.Sprint(err), "Duplicate GPU detected")))
		})
	}
	running.Wait()
	if explained.Load() == 0 {
		t.Error("no rank learns that the GPU is the same")
	}
}

// Ranks that do not agree on the number of bytes learn it, with the call.
func TestExchangesThatDoNotAgree(t *testing.T) {
	driver := softgpu.Open(t, 2)
	id := must(driver.UniqueID())
	var running sync.WaitGroup
	for n := range 2 {
		running.Go(func() {
			r := newRank(driver, id, 2, n)
			defer r.close()
			with := make([]cuda.Transfer, 2)
			if n == 0 {
				with[1] = cuda.Transfer{Send: r.memory.Address, SendBytes: 8}
			} else {
				with[0] = cuda.Transfer{Receive: r.memory.Address, ReceiveBytes: 4}
			}
			err := errors.Join(r.communicator.Exchange(r.stream, with), r.stream.Sync())
			const want = "rank 0 sends 8 bytes, and rank 1 receives 4"
			if got := fmt.Sprint(r.communicator.Err()); err != nil ||
				strings.Contains(got, want) != (n == 1) {
				t.Errorf("rank %d: %v, %v", n, err, got)
			}
			if err := r.communicator.Abort(); err != nil {
				t.Error(err)
			}
			if err := r.communicator.Exchange(r.stream, with); !errors.Is(err, cuda.ErrClosed) {
				t.Errorf("error of an exchange after the end: %v", err)
			}
		})
	}
	running.Wait()
}

// An exchange that fails in the middle leaves no group open, in which later collectives of the thread would
// wait for its end.
func TestExchangeAfterOneThatFails(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	driver := softgpu.Open(t, 1)
	for _, ranks := range []int{2, 1} { // to the rank itself, and to one that does not exist
		r := newRank(driver, must(driver.UniqueID()), 1, 0)
		r.set(3)
		with := []cuda.Transfer{{Send: r.memory.Address, SendBytes: 4, Receive: r.memory.Address.Floats(9),
			ReceiveBytes: 4}, {Send: r.memory.Address, SendBytes: 4}}
		err := r.communicator.Exchange(r.stream, with[:ranks])
		if (err != nil) != (ranks == 2) || err != nil && !strings.Contains(err.Error(), "ncclSend") {
			t.Errorf("exchange with %d ranks: %v", ranks, err)
		}
		if got := r.get()[9]; ranks == 1 && got != 3 {
			t.Errorf("received %v, want 3", got)
		}
		if err := r.communicator.Abort(); err != nil {
			t.Error(err)
		}
		r.close()
	}
}

// TestAbort lets a rank wait for another that does not come: in the beginning, and in a sum.
func TestAbort(t *testing.T) {
	driver := softgpu.Open(t, 2)
	device := must(driver.Open(0))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("rank 1 is dead"))
	defer cancel()
	_, err := device.NewCommunicator(ctx, must(driver.UniqueID()), 2, 0)
	if err == nil || !strings.HasSuffix(err.Error(), "rank 1 is dead") {
		t.Errorf("error without the other rank: %v", err)
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	id := must(driver.UniqueID())
	both := make(chan *rank, 2)
	for n := range 2 {
		go func() { both <- newRank(driver, id, 2, n) }()
	}
	one, other := <-both, <-both
	one.set(1)
	if err := one.communicator.AllReduce(one.stream, one.memory.Address, one.memory.Address, 10,
		cuda.F32); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() { waited <- one.stream.Sync() }()
	select {
	case err := <-waited:
		t.Fatalf("a sum of one of two ranks ended: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := errors.Join(one.communicator.Abort(), one.communicator.Abort(), <-waited); err != nil {
		t.Error(err)
	}
	err = one.communicator.AllReduce(one.stream, one.memory.Address, one.memory.Address, 10, cuda.F32)
	if !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("error of a sum after the end: %v", err)
	}
	one.close()
	other.close()
}

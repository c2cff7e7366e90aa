package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// collectiveEntries are the functions of libnccl.
type collectiveEntries struct {
	version int

	getVersion, getUniqueID, getErrorString, getLastError entry
	initRank, getAsyncError, finalize, destroy, abort     entry
	allReduce, allGather, broadcast                       entry
	groupStart, groupEnd, send, receive                   entry
}

func (d *Driver) openCollectives() (*collectiveEntries, error) {
	c := new(collectiveEntries)
	err := load("collectives, NCCL", candidates(d.libraries.Collectives, 2, "libnccl.so.2"), []wanted{
		{&c.getVersion, "ncclGetVersion", false},
		{&c.getUniqueID, "ncclGetUniqueId", false},
		{&c.getErrorString, "ncclGetErrorString", false},
		{&c.getLastError, "ncclGetLastError", false},   // since NCCL 2.13
		{&c.initRank, "ncclCommInitRankConfig", false}, // since NCCL 2.14
		{&c.getAsyncError, "ncclCommGetAsyncError", false},
		{&c.finalize, "ncclCommFinalize", false}, // since NCCL 2.14
		{&c.destroy, "ncclCommDestroy", false},
		{&c.abort, "ncclCommAbort", false},
		{&c.allReduce, "ncclAllReduce", false},
		{&c.allGather, "ncclAllGather", false},
		{&c.broadcast, "ncclBroadcast", false},
		{&c.groupStart, "ncclGroupStart", false},
		{&c.groupEnd, "ncclGroupEnd", false},
		{&c.send, "ncclSend", false}, // since NCCL 2.7
		{&c.receive, "ncclRecv", false},
	})
	if err != nil {
		return nil, err
	}
	version := new(int32)
	if code := codeOf(call(c.getVersion.address, uintptr(unsafe.Pointer(version)))); code != ncclSuccess {
		return nil, c.failure(-1, c.getVersion.name, code, 0)
	}
	c.version = int(*version)
	return c, nil
}

// failure returns the error of a call. The communicator may be 0.
func (c *collectiveEntries) failure(device int, what string, code int, communicator uintptr) *Error {
	e := &Error{Device: device, Call: what, Code: -code, Text: text(call(c.getErrorString.address,
		uintptr(code)))}
	if communicator != 0 {
		e.Note = text(call(c.getLastError.address, communicator))
	}
	return e
}

// UniqueID names a communicator. One rank makes it, and all ranks receive it.
type UniqueID [uniqueIDBytes]byte

// UniqueID makes the name of a new communicator.
func (d *Driver) UniqueID() (UniqueID, error) {
	c, err := d.collectives()
	if err != nil {
		return UniqueID{}, err
	}
	id := new(UniqueID)
	if code := codeOf(call(c.getUniqueID.address, uintptr(unsafe.Pointer(id)))); code != ncclSuccess {
		return UniqueID{}, c.failure(-1, c.getUniqueID.name, code, 0)
	}
	return *id, nil
}

// CollectivesVersion returns the version of NCCL, such as 2.20.5.
func (d *Driver) CollectivesVersion() (string, error) {
	c, err := d.collectives()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d.%d", c.version/10000, c.version/100%100, c.version%100), nil
}

// Communicator connects the devices of several ranks, one device a rank.
type Communicator struct {
	device *Device
	nccl   *collectiveEntries
	name   string // for errors

	mutex  sync.Mutex // guards what follows; held while a call runs, but not while a peer is awaited
	handle uintptr    // 0 after Abort or Close
}

// ErrClosed is wrapped by the errors of a communicator that was aborted or closed.
var ErrClosed = errors.New("the communicator is closed")

// NewCommunicator connects a rank with the others. It waits until all ranks have called it with the same
// id, or until the context ends. Ranks must not share a device.
func (d *Device) NewCommunicator(ctx context.Context, id UniqueID, ranks, rank int) (*Communicator, error) {
	nccl, err := d.driver.collectives()
	if err != nil {
		return nil, err
	}
	c := &Communicator{device: d, nccl: nccl, name: fmt.Sprintf("rank %d of %d", rank, ranks)}
	config := &ncclConfig{size: uint64(unsafe.Sizeof(ncclConfig{})), magic: ncclMagic, version: ncclVersion,
		cgaClusterSize: ncclUndefined}
	handle := new(uintptr)
	name := &id
	arguments := initArguments(uintptr(unsafe.Pointer(handle)), uintptr(ranks),
		uintptr(unsafe.Pointer(name)), uintptr(rank), uintptr(unsafe.Pointer(config)), *name)
	code, err := d.callOther(&nccl.initRank, arguments...)
	runtime.KeepAlive(config)
	runtime.KeepAlive(handle)
	runtime.KeepAlive(name)
	c.handle = *handle
	if err == nil {
		err = c.await(ctx, &nccl.initRank, code)
	}
	if err != nil {
		c.Abort()
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return c, nil
}

// initArguments arranges the arguments of ncclCommInitRankConfig, whose third is a structure of 128 bytes
// by value. Where structures of this size travel on the stack, the registers of the first six arguments
// that are integers take the others, and the words of the structure follow. Elsewhere the function receives
// its address. The directive puts what the addresses name on the heap, since stacks move.
//
//go:uintptrescapes
func initArguments(handle, ranks, id, rank, config uintptr, value UniqueID) []uintptr {
	if !structsOnStack {
		return []uintptr{handle, ranks, id, rank, config}
	}
	arguments := []uintptr{handle, ranks, rank, config, 0, 0}
	for i := 0; i < len(value); i += 8 {
		arguments = append(arguments, uintptr(binary.NativeEndian.Uint64(value[i:])))
	}
	return arguments
}

// await waits for what a call that returned code has begun.
func (c *Communicator) await(ctx context.Context, e *entry, code int) error {
	status := new(int32)
	for wait := 50 * time.Microsecond; code == ncclInProgress; wait = min(2*wait, 5*time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", e.name, context.Cause(ctx))
		case <-time.After(wait):
		}
		c.mutex.Lock()
		if c.handle == 0 {
			c.mutex.Unlock()
			return fmt.Errorf("%s: %w", e.name, ErrClosed)
		}
		asked := codeOf(call(c.nccl.getAsyncError.address, c.handle, uintptr(unsafe.Pointer(status))))
		c.mutex.Unlock()
		if code = int(*status); asked != ncclSuccess {
			code = asked
		}
	}
	if code == ncclSuccess {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.nccl.failure(c.device.info.Ordinal, e.name, code, c.handle)
}

// start calls a collective, which joins the work of a stream.
func (c *Communicator) start(e *entry, arguments func(handle uintptr) []uintptr) error {
	c.mutex.Lock()
	if c.handle == 0 {
		c.mutex.Unlock()
		return fmt.Errorf("%s: %s: %w", c.name, e.name, ErrClosed)
	}
	code, err := c.device.callOther(e, arguments(c.handle)...)
	c.mutex.Unlock()
	if err == nil {
		err = c.await(context.Background(), e, code)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// numberOf returns NCCL's number for a type.
func numberOf(t Type) uintptr {
	return [...]uintptr{ncclFloat32, ncclFloat32, ncclBfloat16, ncclFloat16}[t]
}

// AllReduce writes the sum of count numbers of all ranks to receive, which may be send. The order of the
// sum is the library's.
func (c *Communicator) AllReduce(s *Stream, send, receive Address, count int, t Type) error {
	return c.start(&c.nccl.allReduce, func(handle uintptr) []uintptr {
		return []uintptr{uintptr(send), uintptr(receive), uintptr(count), numberOf(t), ncclSum, handle,
			s.handle}
	})
}

// AllGather writes the count numbers of each rank to receive, in the order of the ranks.
func (c *Communicator) AllGather(s *Stream, send, receive Address, count int, t Type) error {
	return c.start(&c.nccl.allGather, func(handle uintptr) []uintptr {
		return []uintptr{uintptr(send), uintptr(receive), uintptr(count), numberOf(t), handle, s.handle}
	})
}

// Broadcast writes count numbers of the rank root to the same buffer of all ranks.
func (c *Communicator) Broadcast(s *Stream, data Address, count int, t Type, root int) error {
	return c.start(&c.nccl.broadcast, func(handle uintptr) []uintptr {
		return []uintptr{uintptr(data), uintptr(data), uintptr(count), numberOf(t), uintptr(root), handle,
			s.handle}
	})
}

// Transfer is what two ranks send each other: memory of this rank's device, and how many bytes of it.
type Transfer struct {
	Send, Receive           Address
	SendBytes, ReceiveBytes int
}

// Exchange sends to each rank, and receives from each, what the element of its number says. A rank must
// receive as many bytes as the other sends it. Receive may not overlap with what is sent.
func (c *Communicator) Exchange(s *Stream, with []Transfer) error {
	runtime.LockOSThread() // a group is a matter of one thread
	defer runtime.UnlockOSThread()
	c.mutex.Lock()
	if c.handle == 0 {
		c.mutex.Unlock()
		return fmt.Errorf("%s: %s: %w", c.name, c.nccl.groupEnd.name, ErrClosed)
	}
	code, failed, err := c.group(s, with)
	c.mutex.Unlock()
	if err == nil {
		err = c.await(context.Background(), failed, code)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// group calls the sends and receives of an exchange as one group. It returns the code of the first call that
// has failed, or of the last. A group that has begun is ended after a failure, too: it belongs to the thread,
// whose next collectives would otherwise join it, and none of them would be launched. Mutex must be held.
func (c *Communicator) group(s *Stream, with []Transfer) (code int, of *entry, err error) {
	good := func() bool { return err == nil && (code == ncclSuccess || code == ncclInProgress) }
	of = &c.nccl.groupStart
	if code, err = c.device.callOther(of); !good() {
		return code, of, err
	}
	one := func(e *entry, at Address, bytes, rank int) {
		if bytes > 0 && good() {
			of = e
			code, err = c.device.callOther(e, uintptr(at), uintptr(bytes), ncclInt8, uintptr(rank), c.handle,
				s.handle)
		}
	}
	for rank, t := range with {
		one(&c.nccl.send, t.Send, t.SendBytes, rank)
		one(&c.nccl.receive, t.Receive, t.ReceiveBytes, rank)
	}
	ended := codeOf(call(c.nccl.groupEnd.address))
	if good() {
		code, of = ended, &c.nccl.groupEnd
	}
	return code, of, err
}

// Err returns what went wrong in collectives so far, or nil.
func (c *Communicator) Err() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.handle == 0 {
		return fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	status := new(int32)
	code := codeOf(call(c.nccl.getAsyncError.address, c.handle, uintptr(unsafe.Pointer(status))))
	if code == ncclSuccess {
		code = int(*status)
	}
	if code == ncclSuccess || code == ncclInProgress {
		return nil
	}
	return fmt.Errorf("%s: %w", c.name,
		c.nccl.failure(c.device.info.Ordinal, c.nccl.getAsyncError.name, code, c.handle))
}

// Abort ends the collectives that still run, whose results are undefined then, and frees the communicator.
// It may be called while other methods run, and again.
func (c *Communicator) Abort() error { return c.end(&c.nccl.abort) }

// Close frees the communicator after its collectives. All ranks must call it.
func (c *Communicator) Close() error {
	err := c.start(&c.nccl.finalize, func(handle uintptr) []uintptr { return []uintptr{handle} })
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return errors.Join(err, c.end(&c.nccl.destroy))
}

func (c *Communicator) end(e *entry) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.handle == 0 {
		return nil
	}
	code, err := c.device.callOther(e, c.handle)
	c.handle = 0
	if err == nil && code != ncclSuccess && code != ncclInProgress {
		err = fmt.Errorf("%s: %w", c.name, c.nccl.failure(c.device.info.Ordinal, e.name, code, 0))
	}
	return err
}

package cluster

import (
	"math"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/des"
	"tandem/sim/device"
	"tandem/sim/fabric"
)

// task is a message on its way, work being done, or a bucket being reduced. It
// goes through stages; a stage has parts that run at once, and ends with the
// last of them.
type task struct {
	kind     taskKind
	stage    int32
	parts    int8      // of the stage, under way
	role     int32     // the sender, the worker, or −1
	to       int32     // the receiver
	many     int32     // like messages that the message stands for
	since    unit.Tick // when the message enters its sender's cores
	of       uint32    // the incarnation whose work it is
	lost     bool      // the message never arrives
	total    unit.Tick // kernels of a backward pass, all buckets
	spent    unit.Tick // … of the buckets so far
	message  msg.Message
	work     role.Work
	operands role.Operands
	bucket   int32
	bytes    unit.Bytes   // of the bucket
	left     unit.Tick    // core time that its turns so far have left
	payload  exec.Payload // of the message, where there are numbers
	numbers  func() (role.Result, error)
}

type taskKind uint8

const (
	delivering taskKind = iota
	working
	reducing
)

// open takes a free place for a task.
func (w *world) open(t task) int32 {
	w.busy++
	if n := len(w.idle); n > 0 {
		i := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.tasks[i] = t
		return i
	}
	w.tasks = append(w.tasks, t)
	return int32(len(w.tasks) - 1)
}

// close frees the place of a task.
func (w *world) close(i int32) {
	w.busy--
	w.tasks[i] = task{} // let go of its numbers
	w.idle = append(w.idle, i)
}

// part ends one part of a task's stage.
func (w *world) part(i int32) {
	t := &w.tasks[i]
	t.parts--
	if t.parts == 0 {
		w.proceed(i)
	}
}

// proceed begins the next stage of a task that has any part.
func (w *world) proceed(i int32) {
	for w.tasks[i].parts == 0 {
		var ended bool
		switch w.tasks[i].kind {
		case delivering:
			ended = w.deliver(i)
		case working:
			ended = w.perform(i)
		case reducing:
			ended = w.reduce(i)
		}
		if ended {
			return
		}
		w.tasks[i].stage++
	}
}

// charge begins work on a host as parts of a task's stage. scale is the number
// of like works, which run side by side. Work that costs nothing ends at the
// same instant, but never at once: a role takes one input at a time.
func (w *world) charge(i, on int32, cost device.HostCost, width int, scale float64) {
	h, now := &w.hosts[on], w.clock.Now()
	if cost == (device.HostCost{}) {
		w.wait(i, now)
		return
	}
	many := max(1, int(math.Round(scale)))
	if cost.Core > 0 {
		w.occupy(h, times(cost.Core, scale), width*many, i)
		w.tasks[i].parts++
	}
	if cost.Memory > 0 {
		h.bus.Start(now, times(cost.Memory, scale), many, int64(i))
		w.tasks[i].parts++
	}
	w.touch(on)
}

func times(t unit.Tick, factor float64) unit.Tick { return unit.Tick(math.Round(float64(t) * factor)) }

// wait begins a part of a task's stage that ends at an instant.
func (w *world) wait(i int32, at unit.Tick) {
	w.tasks[i].parts++
	w.clock.Schedule(des.Event{At: at, Class: taskDue, Source: w.tasks[i].role, Kind: taskDue, Target: i})
}

// transfer begins a flow as a part of a task's stage.
func (w *world) transfer(i int32, bytes unit.Bytes, path ...fabric.Hop) {
	w.tasks[i].parts++
	w.net.Start(w.clock.Now(), fabric.Flow{Path: path, Bytes: bytes, Tag: int64(i)})
}

// lognormal returns the value of a lognormal variable of mean 1 for a standard
// normal one: exp(σz − σ²/2).
func lognormal(sigma, z float64) float64 { return math.Exp(float64(sigma*z) - float64(sigma*sigma)/2) }

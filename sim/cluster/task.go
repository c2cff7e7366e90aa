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

// task is a message on its way, work of a role, or a bucket in reduction. It goes through stages. The
// activities of a stage run at the same time; the stage ends with the last of them.
type task struct {
	kind        taskKind
	stage       int32
	activities  int32       // of the stage, under way
	role        int32       // the sender, the worker, or −1
	to          int32       // the receiver
	copies      int32       // like messages that the message stands for
	since       unit.Tick   // when the message enters its sender's cores
	incarnation uint32      // the incarnation whose work it is
	lost        bool        // the message never arrives
	ready       bool        // the message has left its sender's cores
	way         *way        // of the message; nil if it stays on its host
	connection  *connection // of the message; nil if it is the only one on its connection
	jitter      float64     // of the message
	total       unit.Tick   // kernels of a backward pass, all buckets
	spent       unit.Tick   // … of the buckets so far
	message     msg.Message
	work        role.Work
	operands    role.Operands
	bucket      int32
	bytes       unit.Bytes   // of the bucket
	left        unit.Tick    // core time that its turns so far have left
	onHost      bool         // the stage is work on the cores or memory of a host
	began       unit.Tick    // when that work had its first core; unit.Forever: it waits for one
	payload     exec.Payload // of the message, where there are numbers
	await       func() (role.Result, error)
}

type taskKind uint8

const (
	delivering taskKind = iota
	working
	reducing
	exchangingRows // rows between accelerators
)

// openTask stores a task and returns its index.
func (w *simulation) openTask(t task) int32 {
	w.openTasks++
	if n := len(w.freeTasks); n > 0 {
		i := w.freeTasks[n-1]
		w.freeTasks = w.freeTasks[:n-1]
		w.tasks[i] = t
		w.beginTrace(i)
		return i
	}
	w.tasks = append(w.tasks, t)
	w.traces = append(w.traces, trace{})
	i := int32(len(w.tasks) - 1)
	w.beginTrace(i)
	return i
}

// closeTask removes a task.
func (w *simulation) closeTask(i int32) {
	w.openTasks--
	w.tasks[i] = task{} // free its numerics
	w.freeTasks = append(w.freeTasks, i)
}

// endActivity ends one activity of a task's stage, on a resource. The stage takes until its last activity
// ends.
func (w *simulation) endActivity(i int32, on resource) {
	t := &w.tasks[i]
	t.activities--
	if t.activities == 0 {
		w.traces[i].spend(w.clock.Now(), on)
		if !w.lag(i, on) {
			w.proceed(i)
		}
	}
}

// proceed begins the next stage of a task that has any activity.
func (w *simulation) proceed(i int32) {
	for w.tasks[i].activities == 0 {
		var ended bool
		switch w.tasks[i].kind {
		case delivering:
			ended = w.deliverStage(i)
		case working:
			ended = w.workStage(i)
		case reducing:
			ended = w.reduceStage(i)
		case exchangingRows:
			ended = w.exchangeStage(i)
		}
		if ended {
			return
		}
		w.tasks[i].stage++
	}
}

// charge begins work on a host as activities of a task's stage. Scale is the number of equal pieces of work
// that run side by side, each for as many as the share says. Work that costs nothing ends at the same
// instant, but in a later event: a role handles one input at a time.
func (w *simulation) charge(i, on int32, price device.HostCost, width int, scale float64, of share) {
	h, now := &w.hosts[on], w.clock.Now()
	if price == (device.HostCost{}) {
		w.waitUntil(i, now, passing)
		return
	}
	w.tasks[i].onHost, w.tasks[i].began = true, now
	many := max(1, math.Round(scale)) * of.threads
	scale *= of.work
	if price.Core > 0 {
		waits := w.rates.time(h.memoryRate(), price.Wait)
		core := w.rates.time(h.coreRate(), price.Core-price.Wait) + waits
		w.runOnCores(h, core.Scale(scale), float64(width)*many, i)
		w.traces[i].alsoOn(h.memoryRate(), float64(waits)/float64(core))
		w.tasks[i].activities++
	}
	if price.Memory > 0 {
		h.bus.Start(now, w.rates.time(h.memoryRate(), price.Memory).Scale(scale), many, int64(i))
		w.tasks[i].activities++
	}
	w.markDirty(on)
}

// waitUntil begins an activity of a task's stage that ends at an instant, and uses a resource until then.
func (w *simulation) waitUntil(i int32, at unit.Tick, on resource) {
	w.tasks[i].activities++
	w.traces[i].on = on
	w.clock.Schedule(des.Event{At: at, Class: taskDue, Source: w.tasks[i].role, Kind: taskDue, Target: i})
}

// transfer begins a flow as an activity of a task's stage.
func (w *simulation) transfer(i int32, bytes unit.Bytes, path []fabric.Hop) {
	w.tasks[i].activities++
	w.net.Start(w.clock.Now(), fabric.Flow{Path: path, Bytes: bytes, Tag: int64(i)})
}

package goodput

import (
	"math/rand/v2"

	"tandem/algo/rng"
	"tandem/algo/saving"
	"tandem/algo/unit"
)

// Consequence is what follows a failure.
type Consequence uint8

// The consequences, as the package comment describes them.
const (
	Returns Consequence = iota
	Copies
	Redone
	GoesBack
)

// String returns what follows, for a table.
func (c Consequence) String() string {
	return [...]string{"it returns", "it copies another", "it redoes its inputs", "all go back"}[c]
}

// Kind is a kind of failure.
type Kind struct {
	Name    string
	Count   int       // of processes or machines that fail
	Between unit.Tick // mean time between the failures of one of them
	Consequence
	Restart unit.Tick // time to start the process again, or to get another machine and start it there
}

// rate returns the failures of the kind in a nanosecond.
func (k *Kind) rate() float64 { return float64(k.Count) / float64(k.Between) }

// Plan is a training that can fail.
type Plan struct {
	Length unit.Tick // of the training, if nothing failed and nothing was saved
	Every  unit.Tick // from the beginning of a part to its end; 0: there are no checkpoints
	// Auto lets the training choose when a part ends, as package saving does; Every is then not used.
	Auto   bool
	Pause  unit.Tick // training stands still for a checkpoint
	Write  unit.Tick // from then on, until the checkpoint is complete
	Read   unit.Tick // until processes have read a checkpoint
	Copy   unit.Tick // until a process has the parameters of another
	Notice unit.Tick // from a failure until it is noticed
	// Replay is the time in which a process handles its inputs again, as a share of the time in which it had
	// received them.
	Replay float64
	Kinds  []Kind
}

// Cause is why a moment of a training is lost.
type Cause uint8

// The causes.
const (
	Saving     Cause = iota // training stands still for a checkpoint
	Again                   // what was trained is trained again
	Noticing                // a failure is not noticed yet
	Restarting              // a process is started, and reads a checkpoint or copies parameters
	Replaying               // a process handles its inputs again
	causes
)

// String returns the name of a cause.
func (c Cause) String() string {
	return [...]string{"saving", "steps done again", "detection", "restart", "replay"}[c]
}

// Run is a simulated training.
type Run struct {
	Wall   unit.Tick // until it was trained, or given up
	Useful unit.Tick // the part of Wall that counts at the end
	Lost   [causes]unit.Tick
	Deaths []int // by kind
	Saved  int   // checkpoints
	// Repeats is the largest number of times that training began again with one checkpoint.
	Repeats int
	// GivenUp says that failures come too fast for the training to end. Useful is then what was saved.
	GivenUp bool
}

// A training that takes patience times its length, begins again repeatsMax times with one checkpoint or has
// failuresMax failures is given up.
const (
	patience    = 30
	repeatsMax  = 10_000
	failuresMax = 1_000_000
)

// training is a Run that is being simulated.
type training struct {
	Run
	plan     *Plan
	draw     *rand.Rand
	rates    []float64 // of failures, sums over the kinds so far
	now      unit.Tick
	next     unit.Tick       // when the next failure comes
	saved    unit.Tick       // training that the newest checkpoint contains
	since    unit.Tick       // training after it
	complete unit.Tick       // when the checkpoint that is written is complete; unit.Forever: there is none
	contains unit.Tick       // the part of since that it contains
	due      unit.Tick       // when the part ends
	chooser  saving.Interval // of the ends of parts
	repeats  int             // times that training began again with the newest checkpoint
	failures int
}

// Simulate simulates one training. Plans with the same Kinds have the same failures with the same seed.
func Simulate(p *Plan, seed uint64) Run {
	t := &training{plan: p, draw: rng.New(seed, "failures"), Run: Run{Deaths: make([]int, len(p.Kinds))},
		complete: unit.Forever}
	sum := 0.0
	for i := range p.Kinds {
		sum += p.Kinds[i].rate()
		t.rates = append(t.rates, sum)
	}
	t.drawNext()
	t.begin()
	for t.saved+t.since < p.Length && !t.hopeless() {
		part := min(t.due-t.now, p.Length-t.saved-t.since)
		before := t.now
		k := t.pass(max(part, 0))
		t.since += t.now - before
		t.settle()
		switch {
		case k != nil:
			t.wait(k)
		case t.saved+t.since < p.Length:
			t.save()
		}
	}
	t.Wall, t.Useful = t.now, t.saved+t.since
	if t.GivenUp = t.Useful < p.Length; t.GivenUp {
		t.Useful = t.saved
		t.Lost[Again] += t.since
	}
	return t.Run
}

// hopeless reports whether the training is given up.
func (t *training) hopeless() bool {
	return t.now/patience >= t.plan.Length || t.repeats >= repeatsMax || t.failures >= failuresMax
}

// settle makes the checkpoint that is written the newest, if it is complete by now.
func (t *training) settle() {
	if t.now < t.complete {
		return
	}
	t.saved, t.since, t.repeats = t.saved+t.contains, t.since-t.contains, 0
	t.Saved++
	t.complete, t.contains = unit.Forever, 0
}

// begin begins a part. It lasts at least until the checkpoint before is complete.
func (t *training) begin() {
	t.due = unit.Forever
	every := t.plan.Every
	if t.plan.Auto {
		every = t.chooser.Next(t.now, t.repeats)
	}
	if every > 0 && every < unit.Forever-t.now {
		t.due = t.now + every
		if t.complete < unit.Forever {
			t.due = max(t.due, t.complete)
		}
	}
}

// drawNext draws when the next failure comes.
func (t *training) drawNext() {
	t.next = unit.Forever
	if n := len(t.rates); n > 0 && t.rates[n-1] > 0 {
		gap := t.draw.ExpFloat64() / t.rates[n-1]
		if gap < float64(unit.Forever-t.now)/2 {
			t.next = t.now + max(1, unit.Tick(gap))
		}
	}
}

// pass lets time pass, to its end or to the next failure, which it returns.
func (t *training) pass(d unit.Tick) *Kind {
	if d <= t.next-t.now {
		t.now += d
		return nil
	}
	t.now = t.next
	which := t.draw.Float64() * t.rates[len(t.rates)-1]
	i := 0
	for t.rates[i] <= which {
		i++
	}
	t.Deaths[i]++
	t.failures++
	t.drawNext()
	return &t.plan.Kinds[i]
}

// lose lets time pass that is lost to a cause, to its end or to the next failure, which it returns.
func (t *training) lose(d unit.Tick, to Cause) *Kind {
	before := t.now
	k := t.pass(d)
	t.Lost[to] += t.now - before
	return k
}

// save ends a part, and begins the next, in which a checkpoint is written.
func (t *training) save() {
	if !t.pause(t.plan.Pause) {
		return
	}
	t.complete, t.contains = t.now+t.plan.Write, t.since
	t.settle()
	t.chooser.Cost = max(t.plan.Pause, unit.Millisecond)
	t.begin()
}

// pause stands still between two parts, and reports whether the pause came to its end. All go back if a
// process with parameters dies meanwhile, even one that would return by its log within a part.
func (t *training) pause(left unit.Tick) bool {
	for left > 0 {
		before := t.now
		k := t.lose(left, Saving)
		left -= t.now - before
		switch {
		case k == nil:
		case k.Consequence != Returns:
			t.goBack(k)
			return false
		case !t.wait(k):
			return false
		}
	}
	return true
}

// phase is a part of a recovery.
type phase struct {
	left  unit.Tick
	cause Cause
}

// recovery returns the phases of the recovery from a failure. A process that is Redone handles the inputs of
// the redone time again.
func (p *Plan) recovery(k *Kind, redone unit.Tick) []phase {
	phases := []phase{{p.Notice, Noticing}, {k.Restart, Restarting}}
	switch k.Consequence {
	case Copies:
		return append(phases, phase{p.Copy, Restarting})
	case Redone:
		return append(phases, phase{p.Read, Restarting}, phase{redone.Scale(p.Replay), Replaying})
	case GoesBack:
		return append(phases, phase{p.Read, Restarting})
	}
	return phases
}

// left returns how long phases take.
func left(phases []phase) (sum unit.Tick) {
	for _, p := range phases {
		sum += p.left
	}
	return sum
}

// wait waits until a process has returned, and others that die meanwhile, and reports whether the part goes
// on.
func (t *training) wait(k *Kind) bool {
	if t.mustGoBack(k) {
		t.goBack(k)
		return false
	}
	todo := t.replay(k)
	for len(todo) > 0 && !t.hopeless() {
		before := t.now
		other := t.lose(todo[0].left, todo[0].cause)
		todo[0].left -= t.now - before
		t.settle()
		switch {
		case other == nil:
			todo = todo[1:]
		case t.mustGoBack(other):
			t.goBack(other)
			return false
		default:
			if its := t.replay(other); left(its) > left(todo) {
				todo = its
			}
		}
	}
	return true
}

// mustGoBack reports whether all go back when a process is lost within a part.
func (t *training) mustGoBack(k *Kind) bool {
	return k.Consequence == GoesBack || k.Consequence == Redone && t.complete < unit.Forever
}

// replay returns the phases of the recovery of a process that returns within a part, and notes what the part
// repeats.
func (t *training) replay(k *Kind) []phase {
	if k.Consequence == Redone {
		t.chooser.Replayed += t.plan.Replay
	}
	return t.plan.recovery(k, t.since)
}

// goBack makes all begin again with the newest checkpoint, and once more if one of them dies meanwhile.
func (t *training) goBack(k *Kind) {
	for k != nil && !t.hopeless() {
		t.Lost[Again] += t.since
		t.since, t.complete, t.contains = 0, unit.Forever, 0
		t.repeats++
		t.chooser.Losses++
		t.Repeats = max(t.Repeats, t.repeats)
		phases := t.plan.recovery(&Kind{Consequence: GoesBack, Restart: k.Restart}, 0)
		k = nil
		for i := 0; i < len(phases) && k == nil; i++ {
			k = t.lose(phases[i].left, phases[i].cause)
		}
	}
	t.begin()
}

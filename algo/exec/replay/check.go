package replay

import (
	"fmt"
	"math"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// checker finds the first field of a header or of an input that no run of a configuration has. Roles and
// executors index by ranks, steps and counts, and rely on drivers to give them none that is out of range.
type checker struct {
	cfg     *role.Config
	field   string // out of range; empty if none is
	problem string
}

// err returns an error for the field that is out of range, or nil.
func (c *checker) err() error {
	if c.field == "" {
		return nil
	}
	return fmt.Errorf("%s: %s", c.field, c.problem)
}

func (c *checker) fail(field, format string, args ...any) {
	if c.field == "" {
		c.field, c.problem = field, fmt.Sprintf(format, args...)
	}
}

// within demands lo ≤ v ≤ hi.
func (c *checker) within(field string, v, lo, hi int64) {
	if v < lo || v > hi {
		c.fail(field, "%d is out of range; want %d to %d", v, lo, hi)
	}
}

// count returns the number of instances of a role. A coordinator belongs to some modes only, which the
// configuration in a stream does not say.
func (c *checker) count(r msg.Role) int64 {
	switch r {
	case msg.EmbeddingWorker:
		return int64(c.cfg.EmbeddingWorkers)
	case msg.EmbeddingPS:
		return int64(c.cfg.EmbeddingPSs)
	case msg.NNWorker:
		return int64(c.cfg.Ranks)
	case msg.DensePS:
		return int64(len(c.cfg.DensePSs))
	}
	return 1
}

func (c *checker) address(field string, a msg.Address) {
	if !a.Role.Known() {
		c.fail(field+".Role", "%d is no role", uint8(a.Role))
		return
	}
	if n := c.count(a.Role); a.Index < 0 || int64(a.Index) >= n {
		c.fail(field+".Index", "%d is out of range; the run has %d of role %v", a.Index, n, a.Role)
	}
}

// checkHeader returns an error unless the role of a header exists in its configuration.
func checkHeader(h *Header) error {
	c := checker{cfg: &h.Config}
	for _, f := range []struct {
		name string
		v    int32
	}{
		{"Ranks", h.Config.Ranks}, {"EmbeddingWorkers", h.Config.EmbeddingWorkers},
		{"EmbeddingPSs", h.Config.EmbeddingPSs}, {"Steps", h.Config.Steps},
	} {
		c.within("Config."+f.name, int64(f.v), 1, math.MaxInt32)
	}
	c.address("Role", h.Role)
	return c.err()
}

// checkInput returns an error if a role at an address cannot receive an input.
func checkInput(in *role.Input, at msg.Address, cfg *role.Config) error {
	c := checker{cfg: cfg}
	switch in.Kind {
	case role.TimerFired, role.Stop:
	case role.Drain:
		if at.Role != msg.DataLoader {
			c.fail("Kind", "a request to end the run for %v", at)
		}
	case role.Start:
		restarts := role.CanRestart(at.Role) || at.Role == msg.NNWorker && cfg.RankRecovery
		if in.Incarnation > 0 && !restarts {
			c.fail("Incarnation", "%d of %v, which cannot restart", in.Incarnation, at)
		}
		c.step("Next", in.Next)
		c.bucket(in.Bucket)
	case role.Received:
		c.message(&in.Message, at)
	case role.WorkPart:
		c.work(&in.Work, at)
		c.bucket(in.Bucket)
	case role.WorkDone:
		c.work(&in.Work, at)
		c.result(in)
	case role.WorkFailed:
		if c.work(&in.Work, at); in.Reason == nil {
			c.fail("Reason", "work failed for no reason")
		}
	case role.BucketReduced:
		c.step("Work.Step", in.Work.Step)
		c.bucket(in.Bucket)
		if at.Role != msg.NNWorker {
			c.fail("Kind", "a reduced bucket for %v", at)
		}
	default:
		c.fail("Kind", "%d is no kind of input", uint8(in.Kind))
	}
	return c.err()
}

// step allows the number of steps itself: clocks and floors come to it.
func (c *checker) step(field string, v int32) { c.within(field, int64(v), 0, int64(c.cfg.Steps)) }

func (c *checker) bucket(v int32) { c.within("Bucket", int64(v), 0, int64(len(c.cfg.Buckets))-1) }

func (c *checker) message(m *msg.Message, at msg.Address) {
	if !m.Kind.Known() {
		c.fail("Message.Kind", "%d is no kind of message", uint8(m.Kind))
	}
	c.address("Message.From", m.From)
	if c.address("Message.To", m.To); m.To != at {
		c.fail("Message.To", "%v received what is for %v", at, m.To)
	}
	c.within("Message.Rank", int64(m.Rank), 0, int64(c.cfg.Ranks)-1)
	c.step("Message.Step", m.Step)
	c.step("Message.Floor", m.Floor)
	c.within("Message.Samples", int64(m.Samples), 0, math.MaxInt32)
	c.within("Message.StepSamples", int64(m.StepSamples), 0, math.MaxInt32)
	c.within("Message.Bytes", int64(m.Bytes), 0, math.MaxInt64)
}

// worker is the role that asks for each kind of work.
var worker = map[role.WorkKind]msg.Role{
	role.Read:  msg.DataLoader,
	role.Split: msg.EmbeddingWorker, role.Pool: msg.EmbeddingWorker, role.Merge: msg.EmbeddingWorker,
	role.ReadRows: msg.EmbeddingPS, role.Apply: msg.EmbeddingPS, role.ApplyStep: msg.EmbeddingPS,
	role.Forward: msg.NNWorker, role.Backward: msg.NNWorker, role.DenseApply: msg.NNWorker,
	role.Snapshot: msg.NNWorker, role.Average: msg.NNWorker,
	role.ReadDense: msg.DensePS, role.ApplyPush: msg.DensePS,
}

func (c *checker) work(w *role.Work, at msg.Address) {
	if of, known := worker[w.Kind]; !known || of != at.Role {
		c.fail("Work.Kind", "%d is no kind of work of %v", uint8(w.Kind), at)
	}
	lowest := int64(0)
	if w.Kind == role.Read || w.Kind == role.ApplyStep || w.Kind == role.ApplyPush {
		lowest = int64(event.NoRank)
	}
	c.within("Work.Rank", int64(w.Rank), lowest, int64(c.cfg.Ranks)-1)
	c.step("Work.Step", w.Step)
	c.within("Work.Samples", int64(w.Samples), 0, math.MaxInt32)
	c.within("Work.StepSamples", int64(w.StepSamples), 0, math.MaxInt32)
}

// result checks the counts in a result of work: by rank for Read, by embedding PS for Split, else none.
func (c *checker) result(in *role.Input) {
	var ranks, servers int64
	switch in.Work.Kind {
	case role.Read:
		ranks = int64(c.cfg.Ranks)
	case role.Split:
		servers = int64(c.cfg.EmbeddingPSs)
	}
	r := &in.Result
	counts(c, "Result.Samples", r.Samples, ranks)
	counts(c, "Result.IDBytes", r.IDBytes, ranks)
	counts(c, "Result.SampleBytes", r.SampleBytes, ranks)
	counts(c, "Result.Rows", r.Rows, servers)
	counts(c, "Result.SignBytes", r.SignBytes, servers)
	counts(c, "Result.ValueBytes", r.ValueBytes, servers)
	c.within("Result.Bytes", int64(r.Bytes), 0, math.MaxInt64)
}

// counts demands n numbers, none negative, whose sum does not overflow.
func counts[T ~int32 | ~int64](c *checker, field string, values []T, n int64) {
	if int64(len(values)) != n {
		c.fail(field, "%d numbers; want %d", len(values), n)
		return
	}
	sum := T(0)
	for i, v := range values {
		if sum += v; v < 0 || sum < 0 {
			c.fail(fmt.Sprintf("%s[%d]", field, i), "%d is out of range", v)
		}
	}
}

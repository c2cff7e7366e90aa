package role_test

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// cluster is the roles of a run without time: messages and work wait until a test makes them happen.
type cluster struct {
	cfg     role.Config
	roles   []role.Role
	mail    []msg.Message // sent and not delivered, in order
	work    []pending     // in flight, in the order of issue
	reduced []pending     // buckets that are summed, in order
	barrier *role.Reduction
	owners  map[[2]int32][]int32 // by (rank, step): PSs with rows of the batch; all if absent
	now     unit.Tick
	crashes uint32
	log     strings.Builder
	silent  bool          // without a log
	changed []msg.Address // roles that have handled an input; only if silent
}

// pending is an input to come.
type pending struct {
	to msg.Address
	in role.Input
}

func newCluster(cfg role.Config) *cluster {
	c := &cluster{cfg: cfg, owners: map[[2]int32][]int32{},
		barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets))}
	c.roles = role.New(&c.cfg)
	return c
}

// find returns the role of an address.
func (c *cluster) find(a msg.Address) role.Role {
	i := slices.IndexFunc(c.roles, func(r role.Role) bool { return r.Address() == a })
	return c.roles[i]
}

// step gives a role one input, performs its outputs and logs them.
func (c *cluster) step(to msg.Address, in role.Input, title string) {
	var out role.Outputs
	c.find(to).HandleInput(c.now, in, &out)
	if c.silent {
		c.changed = append(c.changed, to)
	} else {
		fmt.Fprintf(&c.log, "%v: %s\n", to, title)
		for _, o := range out.List {
			fmt.Fprintf(&c.log, "  %s\n", describe(o))
		}
	}
	if err := role.Dispatch(&in, &out, driver{c, to}); err != nil {
		panic(err)
	}
}

// driver is the role.Driver of one role of a cluster.
type driver struct {
	*cluster
	at msg.Address
}

func (d driver) Send(m msg.Message, _ role.Handle) error {
	d.mail = append(d.mail, m)
	return nil
}

func (d driver) QueueWork(w role.Work, _ role.Operands) error {
	if w.Kind == role.Backward {
		for b := range d.cfg.Buckets {
			d.work = append(d.work, pending{d.at, role.Input{Kind: role.WorkPart, Work: w, Bucket: int32(b)}})
		}
	}
	d.work = append(d.work, pending{d.at,
		role.Input{Kind: role.WorkDone, Work: w, Result: d.result(d.at, w)}})
	return nil
}

func (d driver) Feed(f role.Contribution) error {
	fed, err := d.barrier.Feed(int(f.Rank), f.Step, f.Bucket)
	if err != nil || fed != role.Complete {
		return err
	}
	for rank := range d.cfg.Ranks {
		in := role.Input{Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: f.Step},
			Bucket: f.Bucket}
		d.reduced = append(d.reduced, pending{msg.Address{Role: msg.NNWorker, Index: rank}, in})
	}
	return nil
}

// The log shows the other outputs.
func (d driver) Keep(msg.Message, role.Handle) error { return nil }
func (d driver) Release(role.Handle) error           { return nil }
func (d driver) SetTimer(unit.Tick) error            { return nil }
func (d driver) Observe(event.Record) error          { return nil }
func (d driver) Finish() error                       { return nil }
func (d driver) Halt(reason error) error             { return reason }

// rows returns a made-up number of rows of a batch on a PS: one on each owner.
func (c *cluster) rows(rank, step, ps int32) int32 {
	if owners, given := c.owners[[2]int32{rank, step}]; given && !slices.Contains(owners, ps) {
		return 0
	}
	return 1
}

// result returns made-up counts of work: 4 samples for each rank, embeddings of 16 bytes.
func (c *cluster) result(who msg.Address, w role.Work) role.Result {
	r := role.Result{Bytes: 64}
	switch w.Kind {
	case role.ReadRows:
		r.Bytes = 16 * unit.Bytes(c.rows(w.Rank, w.Step, who.Index))
	case role.Read:
		for range c.cfg.Ranks {
			r.Samples = append(r.Samples, 4)
			r.IDBytes = append(r.IDBytes, 32)
			r.SampleBytes = append(r.SampleBytes, 16)
		}
	case role.Split:
		for p := range c.cfg.EmbeddingPSs {
			rows := c.rows(w.Rank, w.Step, p)
			r.Rows = append(r.Rows, rows)
			r.SignBytes = append(r.SignBytes, 8*unit.Bytes(rows))
			r.ValueBytes = append(r.ValueBytes, 16*unit.Bytes(rows))
		}
	}
	return r
}

// deliver hands over the messages that match, as they stand now.
func (c *cluster) deliver(match func(msg.Message) bool) {
	for _, m := range c.pull(match) {
		c.step(m.To, role.Input{Kind: role.Received, Message: m}, "got "+brief(m))
	}
}

// pull takes the messages that match out of the mail.
func (c *cluster) pull(match func(msg.Message) bool) []msg.Message {
	var pulled []msg.Message
	c.mail = slices.DeleteFunc(c.mail, func(m msg.Message) bool {
		if !match(m) {
			return false
		}
		pulled = append(pulled, m)
		return true
	})
	return pulled
}

// finish completes the work that matches, as it stands now.
func (c *cluster) finish(match func(pending) bool) {
	var done []pending
	c.work = slices.DeleteFunc(c.work, func(p pending) bool {
		if !match(p) {
			return false
		}
		done = append(done, p)
		return true
	})
	for _, p := range done {
		title := "finished " + workName(p.in.Work)
		if p.in.Kind == role.WorkPart {
			title = fmt.Sprintf("bucket %d of backward is ready", p.in.Bucket)
		}
		c.step(p.to, p.in, title)
	}
}

// reduce delivers the reduced buckets that match.
func (c *cluster) reduce(match func(pending) bool) {
	var done []pending
	c.reduced = slices.DeleteFunc(c.reduced, func(p pending) bool {
		if !match(p) {
			return false
		}
		done = append(done, p)
		return true
	})
	for _, p := range done {
		c.step(p.to, p.in, fmt.Sprintf("bucket %d of step %d is reduced", p.in.Bucket, p.in.Work.Step))
	}
}

// idle reports whether nothing is in flight.
func (c *cluster) idle() bool { return len(c.mail)+len(c.work)+len(c.reduced) == 0 }

// run repeats delivering messages, ending work and delivering buckets until only messages that match held are
// in flight.
func (c *cluster) run(held func(msg.Message) bool) {
	free := func(m msg.Message) bool { return !held(m) }
	for slices.ContainsFunc(c.mail, free) || len(c.work)+len(c.reduced) > 0 {
		c.deliver(free)
		c.finish(func(pending) bool { return true })
		c.reduce(func(pending) bool { return true })
	}
}

func brief(m msg.Message) string {
	return fmt.Sprintf("%v rank %d step %d", m.Kind, m.Rank, m.Step)
}

func workName(w role.Work) string {
	if w.Rank == event.NoRank {
		return fmt.Sprintf("%v step %d", w.Kind, w.Step)
	}
	return fmt.Sprintf("%v rank %d step %d", w.Kind, w.Rank, w.Step)
}

// describe returns one output on one line.
func describe(o role.Output) string {
	switch o.Kind {
	case role.Send:
		payload := ""
		if o.Handle.Kind != role.NoData {
			payload = " of " + handleName(o.Handle)
		}
		return fmt.Sprintf("→ %v: %s, %d bytes%s", o.Message.To, brief(o.Message), o.Message.Bytes, payload)
	case role.Do:
		return "do " + workName(o.Work) + operandNames(" from ", o.Operands.Reads) + operandNames(" → ",
			o.Operands.Makes)
	case role.Feed:
		f := o.Contribution
		return fmt.Sprintf("feed bucket %d of step %d, %d bytes: %v → %v", f.Bucket, f.Step, f.Bytes,
			f.Source.Kind, f.Sum.Kind)
	case role.Keep:
		return "keep payload as " + handleName(o.Handle)
	case role.Release:
		return "release " + handleName(o.Handle)
	case role.SetTimer:
		return fmt.Sprintf("set timer to %v", o.At)
	case role.Record:
		if o.Event.Rank == event.NoRank {
			return fmt.Sprintf("record %v step %d", o.Event.Kind, o.Event.Step)
		}
		return fmt.Sprintf("record %v rank %d step %d", o.Event.Kind, o.Event.Rank, o.Event.Step)
	case role.Finished:
		return "FINISHED"
	}
	return "HALT: " + o.Reason.Error()
}

func handleName(h role.Handle) string {
	if h.Rank == event.NoRank {
		return fmt.Sprintf("%v, step %d", h.Kind, h.Step)
	}
	return fmt.Sprintf("%v, rank %d step %d", h.Kind, h.Rank, h.Step)
}

// operandNames lists the kinds of operands. Their rank and step are those of the work.
func operandNames(before string, operands []role.Handle) string {
	var names []string
	for _, h := range operands {
		names = append(names, h.Kind.String())
	}
	if names == nil {
		return ""
	}
	return before + strings.Join(names, " + ")
}

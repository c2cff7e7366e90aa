// Package node is one role of a run in a process of its own: it joins the run,
// reaches the other roles, trains, shows what it holds, and leaves.
package node

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"time"

	"tandem/algo/batch"
	"tandem/algo/event"
	"tandem/algo/job"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/unit"
	"tandem/algo/work"
	"tandem/runtime/allreduce"
	"tandem/runtime/coord"
	"tandem/runtime/live"
	"tandem/runtime/train"
	"tandem/runtime/transport"
)

// Config is one role of a run.
type Config struct {
	Role        msg.Address
	Listen      string        // HOST:PORT for the data of other roles; port 0 is any free one
	Host        string        // HOST:PORT of the run's host
	JoinTimeout time.Duration // how long to wait for the host to be there
	Run         []byte        // id of the run; nil: whichever run the host serves
	Job         []byte        // fingerprint of the resolved job
	Data        []byte        // fingerprint of the data files; nil unless the role is the data loader
	Training    job.Training
	Machine     work.Machine
	Recorder    live.Recorder // if not nil, keeps all that happens to the role
	// Log, if not nil, takes lines about what was refused.
	Log func(line string)
	// Open returns the rows for training. Only the data loader opens them.
	Open func() (batch.Source, error)
}

// processRetry is how long a role waits before it asks again, unless the job says: the
// process that would have answered may have died.
const processRetry = unit.Second

// stopMax is how long the work in hand may hold up the end of a failed run.
const stopMax = time.Second

// Run plays the role until the run is over. The error says why it failed, here or
// elsewhere. It returns within 5 seconds of the end of ctx or of the host.
func Run(ctx context.Context, c Config) error {
	n := &node{Config: c, built: make(chan struct{})}
	data, err := transport.Listen(c.Listen, transport.Options{
		Roles: []msg.Address{c.Role}, Job: hex.EncodeToString(c.Job), Handler: n, Log: c.Log,
		Admit: n.admit, Limit: n.limit, Inbox: inboxOf(&c.Training),
		Restartable: func(at msg.Address) bool { return role.CanRestart(at.Role) },
	})
	if err != nil {
		return fmt.Errorf("%v: %w", c.Role, err)
	}
	n.data = data
	n.member, err = coord.Join(ctx, c.Host,
		coord.Hello{Role: c.Role, Address: data.Address(), Job: c.Job, Data: c.Data, Run: c.Run}, c.JoinTimeout)
	if err != nil {
		data.Abort()
		return fmt.Errorf("%v: %w", c.Role, err)
	}
	played := make(chan error, 1)
	go func() { played <- n.play() }()
	select {
	case err = <-played:
	case <-n.member.Context().Done():
		err = context.Cause(n.member.Context())
		if ctx.Err() != nil {
			err = fmt.Errorf("%v was interrupted", c.Role)
		}
		select {
		case <-played:
		case <-time.After(stopMax): // the process ends, and this work with it
		}
	}
	if err = n.member.Leave(err); err != nil {
		data.Abort()
		return err
	}
	return data.Close()
}

// node is a role at work.
type node struct {
	Config
	data   *transport.Node
	member *coord.Member

	built     chan struct{} // closed when what follows is set
	cfg       *role.Config
	performer *work.Executor
	part      *live.Part
	sums      *allreduce.Ordered // NN worker
	endSums   context.CancelCauseFunc

	peers    peers
	journal  *journal
	reported time.Time // when progress was reported
	steps    int
}

// play is the role from its welcome to its end.
func (n *node) play() error {
	if err := n.prepare(); err != nil {
		return n.named(err)
	}
	start, err := n.member.Ready(atWork{n})
	if err != nil {
		return err
	}
	go n.follow()
	n.journal = startJournal(n.member.Records)
	err = n.part.Run(n.member.Context(), start)
	if err = cmp.Or(err, n.journal.close()); err != nil {
		return err
	}
	report := train.Report{
		Digest: n.performer.Model().Digest(n.Role), Missed: n.performer.Model().Missed(), Faults: n.part.Injected(),
	}
	for _, t := range n.performer.Model().Tables() {
		report.Rows += t.Len()
	}
	return n.member.Report(report, atRest{n})
}

// named puts the name of the role before an error that was made here.
func (n *node) named(err error) error {
	if n.member.Context().Err() != nil {
		return context.Cause(n.member.Context())
	}
	return fmt.Errorf("%v: %w", n.Role, err)
}

// prepare makes the state machine and its numbers, and reaches the other roles.
func (n *node) prepare() error {
	welcome, err := n.member.Welcome()
	if err != nil {
		return err
	}
	n.steps = welcome.Steps
	if welcome.Incarnation > 0 {
		n.Training.Faults.Crashes = nil // they are past, or have taken place
	}
	n.data.SetSilence(2 * n.member.HangLimit()) // the host notices first
	if err := n.data.Begin(welcome.Run, welcome.Incarnation, welcome.View); err != nil {
		return err
	}
	source, err := n.source(welcome)
	if err != nil {
		return err
	}
	here := func(a msg.Address) bool { return a == n.Role }
	if n.performer, err = work.NewPart(n.Training, source, n.Machine, here); err != nil {
		return err
	}
	if n.cfg, err = n.Training.RoleConfig(n.performer.Model().Layout(), welcome.Steps); err != nil {
		return err
	}
	n.cfg.Retry = cmp.Or(n.cfg.Retry, processRetry)
	options := live.Options{
		Observers: []event.Observer{n}, Recorder: n.Recorder,
		Faults: &n.Training.Faults, Incarnation: welcome.Incarnation,
	}
	if n.Training.EvaluateEvery != (job.Every{}) {
		options.BeforeStep = func(step int, _ work.State) error { return n.member.BeforeStep(step) }
	}
	if n.part, err = live.NewPart(n.cfg, n.performer, options, here, n); err != nil {
		return err
	}
	if n.Role.Role == msg.NNWorker {
		if err := n.join(welcome.View); err != nil {
			return err
		}
	}
	close(n.built)
	return n.reach(welcome)
}

// join makes the end of this rank of what all ranks compute together, in the view of their welcome.
func (n *node) join(view uint32) (err error) {
	layout := n.performer.Model().Layout()
	c := allreduce.Config{
		Self: int(n.Role.Index), View: view,
		Send:   func(m msg.Message, payload any) error { return n.Send(n.member.Context(), m, payload) },
		Values: max(layout.Params, layout.Running), Stats: n.Training.GroupsPerRank() * layout.Stats,
	}
	for i := range n.cfg.Ranks {
		c.Members = append(c.Members, msg.Address{Role: msg.NNWorker, Index: i})
	}
	var ctx context.Context
	ctx, n.endSums = context.WithCancelCause(n.member.Context())
	n.sums, err = allreduce.NewOrdered(ctx, c)
	return err
}

// source returns the rows for training, or what other roles than the data loader
// know of them.
func (n *node) source(w *coord.Welcome) (batch.Source, error) {
	if n.Role.Role != msg.DataLoader {
		return described{w.Schema, w.Steps}, nil
	}
	source, err := n.Open()
	if err != nil {
		return nil, err
	}
	if source.Steps() != w.Steps || !reflect.DeepEqual(source.Schema(), w.Schema) {
		return nil, fmt.Errorf("the data are not those of the host: %d steps here, %d there; give both the same files",
			source.Steps(), w.Steps)
	}
	return source, nil
}

// described is a source of which only the form is known.
type described struct {
	schema *batch.Schema
	steps  int
}

func (d described) Schema() *batch.Schema { return d.schema }
func (d described) Steps() int            { return d.steps }
func (d described) Samples(int) int       { panic("node: only the data loader has samples") }
func (d described) Read(int) (*batch.Batch, error) {
	return nil, errors.New("node: only the data loader has samples")
}

package process

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/allreduce"
	"tandem/runtime/driver"
	"tandem/runtime/member"
	"tandem/runtime/transport"
)

// Config is one process of a run.
type Config struct {
	Process     job.Process   // its roles, in any order
	Listen      string        // HOST:PORT for the data of other processes; port 0 is any free one
	Host        string        // HOST:PORT of the run's host
	JoinTimeout time.Duration // how long to wait for the host to be there
	Run         []byte        // id of the run; nil: whichever run the host serves
	Fingerprint []byte        // fingerprint of the resolved job
	Data        []byte        // fingerprint of the data files; nil unless the data loader is here
	Job         job.Job
	Machine     backend.Backend
	Recorder    driver.Recorder // if not nil, keeps all that happens to the roles
	// Log, if not nil, takes lines about what was refused.
	Log func(line string)
	// Open returns the rows for training. Only the data loader opens them.
	Open func() (batch.Source, error)
}

// processRetry is how long a role waits before it asks again, unless the job says: the
// process that would have answered may have died.
const processRetry = unit.Second

// stopTimeout is how long the work in hand may hold up the end of a failed run.
const stopTimeout = time.Second

// Run plays the roles until the run is over. The error says why it failed, here or
// elsewhere. It returns within 5 seconds of the end of ctx or of the host.
func Run(ctx context.Context, c Config) error {
	c.Process = slices.SortedFunc(slices.Values(c.Process), msg.Address.Compare)
	n := &node{Config: c, built: make(chan struct{})}
	data, err := transport.Listen(c.Listen, transport.Options{
		Roles: c.Process, Job: hex.EncodeToString(c.Fingerprint), Handler: n, Log: c.Log,
		Admit: n.admit, Limit: n.limit, Inbox: inboxLimit(&c.Job),
		Restartable: n.peers.mayReturn,
	})
	if err != nil {
		return fmt.Errorf("%v: %w", c.Process, err)
	}
	n.endpoint = data
	n.member, err = member.Join(ctx, c.Host,
		member.Hello{Process: c.Process, Address: data.Address(), Job: c.Fingerprint, Data: c.Data, Run: c.Run}, c.JoinTimeout)
	if err != nil {
		data.Abort()
		return fmt.Errorf("%v: %w", c.Process, err)
	}
	played := make(chan error, 1)
	go func() { played <- n.run() }()
	select {
	case err = <-played:
	case <-n.member.Context().Done():
		err = context.Cause(n.member.Context())
		if ctx.Err() != nil {
			err = fmt.Errorf("%v was interrupted", c.Process)
		}
		select {
		case <-played:
		case <-time.After(stopTimeout): // the process ends, and this work with it
		}
	}
	if err = n.member.Leave(err); err != nil {
		data.Abort()
		return err
	}
	return data.Close()
}

// node is a process at work.
type node struct {
	Config
	endpoint *transport.Endpoint
	member   *member.Member

	built    chan struct{} // closed when what follows is set
	cfg      *role.Config
	executor *exec.Executor
	local    *driver.Local
	sums     *allreduce.Ordered // nil unless some ranks are here, and others are not
	endSums  context.CancelCauseFunc

	peers    peers
	events   *eventLog
	reported time.Time // when progress was reported
	steps    int
}

// run is the process from its welcome to its end.
func (n *node) run() error {
	if err := n.prepare(); err != nil {
		return n.named(err)
	}
	start, err := n.member.Ready(trainingModel{n})
	if err != nil {
		return err
	}
	go n.handleChanges()
	n.events = startEventLog(n.member.Records)
	err = n.local.Run(n.member.Context(), start)
	if err = cmp.Or(err, n.events.close()); err != nil {
		return err
	}
	return n.member.Report(n.local.Report(), finalModel{n})
}

// named puts the name of the process before an error that was made here.
func (n *node) named(err error) error {
	if n.member.Context().Err() != nil {
		return context.Cause(n.member.Context())
	}
	return fmt.Errorf("%v: %w", n.Process, err)
}

// prepare makes the state machines and their numbers, and reaches the other processes.
func (n *node) prepare() error {
	welcome, err := n.member.Welcome()
	if err != nil {
		return err
	}
	n.steps = welcome.Steps
	if welcome.Incarnation > 0 {
		n.Job.Faults.Crashes = nil // they are past, or have taken place
	}
	n.endpoint.SetSilence(2 * n.member.HangLimit()) // the host notices first
	if err := n.endpoint.Begin(welcome.Run, welcome.Incarnation, welcome.View); err != nil {
		return err
	}
	source, err := n.source(welcome)
	if err != nil {
		return err
	}
	if n.executor, err = exec.NewPart(n.Job, source, n.Machine, n.Process.Has); err != nil {
		return err
	}
	if n.cfg, err = n.Job.RoleConfig(n.executor.Model().Layout(), welcome.Steps); err != nil {
		return err
	}
	n.cfg.Retry = cmp.Or(n.cfg.Retry, processRetry)
	options := driver.Options{
		Observers: []event.Observer{n}, Recorder: n.Recorder,
		Faults: &n.Job.Faults, Incarnation: welcome.Incarnation,
	}
	if n.Job.Training.EvaluateEvery != (job.Every{}) {
		options.BeforeStep = func(step int, _ evaluation.State) error { return n.member.BeforeStep(step) }
	}
	if n.local, err = driver.NewLocal(n.cfg, n.executor, options, n.Process.Has, n); err != nil {
		return err
	}
	if err := n.joinAllReduce(welcome.View); err != nil {
		return err
	}
	close(n.built)
	return n.connect(welcome)
}

// joinAllReduce makes the end of the ranks here of what all ranks compute together, in the view of their welcome, if
// ranks are in several processes.
func (n *node) joinAllReduce(view uint32) (err error) {
	var here []int
	for i := range n.cfg.Ranks {
		if n.Process.Has(msg.Address{Role: msg.NNWorker, Index: i}) {
			here = append(here, int(i))
		}
	}
	if len(here) == 0 || len(here) == int(n.cfg.Ranks) {
		return nil
	}
	layout := n.executor.Model().Layout()
	c := allreduce.Config{
		View:   view,
		Send:   func(m msg.Message, payload exec.Payload) error { return n.Send(n.member.Context(), m, payload) },
		Values: max(layout.Params, layout.Running), Stats: n.Job.GroupsPerRank() * layout.Stats,
	}
	for i := range n.cfg.Ranks {
		c.Members = append(c.Members, msg.Address{Role: msg.NNWorker, Index: i})
	}
	var ctx context.Context
	ctx, n.endSums = context.WithCancelCause(n.member.Context())
	n.sums, err = allreduce.NewOrdered(ctx, c, here)
	return err
}

// source returns the rows for training, or what processes without the data loader
// know of them.
func (n *node) source(w *member.Welcome) (batch.Source, error) {
	if !n.Process.Has(msg.Address{Role: msg.DataLoader}) {
		return remoteSource{w.Schema, w.Steps}, nil
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
type remoteSource struct {
	schema *batch.Schema
	steps  int
}

func (d remoteSource) Schema() *batch.Schema { return d.schema }
func (d remoteSource) Steps() int            { return d.steps }
func (d remoteSource) Samples(int) int       { panic("process: only the data loader has samples") }
func (d remoteSource) Read(int) (*batch.Batch, error) {
	return nil, errors.New("process: only the data loader has samples")
}

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
	"tandem/algo/exec/dense"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/allreduce"
	"tandem/runtime/checkpoint"
	"tandem/runtime/driver"
	"tandem/runtime/identity"
	"tandem/runtime/member"
	"tandem/runtime/redo"
	"tandem/runtime/transport"
)

// Config describes one process of a run.
type Config struct {
	Process     job.Process   // its roles, in any order
	Listen      string        // HOST:PORT for streams from other processes; port 0 is any free port
	Host        string        // HOST:PORT of the run's host
	JoinTimeout time.Duration // how long to wait for the host
	// HostReturn says that Run returns ErrContinues when the host is lost, which may be started again.
	HostReturn  bool
	Run         []byte // id of the run; nil accepts the run that the host serves
	Fingerprint []byte // fingerprint of the resolved job
	Data        []byte // fingerprint of the data files; nil unless the process has the data loader
	Job         job.Job
	Backend     backend.Backend
	// Buffer is memory for rows that change while a checkpoint is written: see checkpoint.BeginExport.
	Buffer []byte
	// Arena, if not nil, takes the place of Backend.Arena. It returns an arena without rows whenever the
	// process does not keep those that it had. Nothing uses the memory of an earlier arena any more.
	Arena    func() (table.Arena, error)
	Recorder driver.Recorder // if not nil, records the roles
	Observer event.Observer  // if not nil, receives the records of the roles
	// Asked, if not nil, is closed when the process is asked to end. It then asks the host to end the run,
	// and stays until that has happened.
	Asked <-chan struct{}
	// Started, if not nil, is called when every process has joined and training begins.
	Started func()
	// Identity, if not nil, makes every connection of the process one of TLS, with processes of its run.
	Identity *identity.Identity
	// Refused, if not nil, receives the wire.Reason of everything that is refused.
	Refused func(reason string)
	// Log, if not nil, receives lines about what was refused, and why a part of the run has ended.
	Log func(line string)
	// Open returns the samples for training. Only the process of the data loader calls it.
	Open func() (batch.Source, error)
}

// processRetry is how long a role waits before it asks again, unless the job sets a time: the process that
// should have answered may have died.
const processRetry = unit.Second

// stopTimeout is how long work in progress may delay the end of a failed run.
const stopTimeout = time.Second

// ErrContinues is the error of Run when the next part of the run is to follow: after the model was saved on
// the way, or from a saved model after another process or the host was lost. The process calls Run again.
// No work of the part is left.
var ErrContinues = errors.New("process: the run goes on")

// Run is one process of a run, from joining to leaving. The error says why the run failed, in this process or
// another one. Run returns within 5 seconds after the end of ctx or the death of the host.
//
// Kept is the same in every part of the run.
func Run(ctx context.Context, c Config, kept *Kept) error {
	if c.Log == nil {
		c.Log = func(string) {}
	}
	c.Process = slices.SortedFunc(slices.Values(c.Process), msg.Address.Compare)
	n := &node{Config: c, seat: c.Process, kept: kept, built: make(chan struct{}),
		connected: make(chan struct{})}
	data, err := transport.Listen(c.Listen, transport.Options{
		Roles: c.Process, Job: hex.EncodeToString(c.Fingerprint), Handler: n, Log: c.Log,
		Admit: n.admit, Limit: n.limit, Inbox: inboxLimit(&c.Job), Identity: c.Identity,
		Restartable: n.peers.mayReturn, TCP: c.Job.Wire.Local == job.TCP, Refused: c.Refused,
	})
	if err != nil {
		return fmt.Errorf("%v: %w", c.Process, err)
	}
	n.endpoint = data
	ctx, joined := n.endIfAsked(ctx)
	n.member, err = member.Join(ctx, c.Host,
		member.Hello{Process: c.Process, Address: data.Address(), Job: c.Fingerprint, Data: c.Data,
			Run: c.Run, Held: kept.run, Identity: c.Identity}, c.JoinTimeout)
	joined()
	if err != nil {
		data.Abort()
		return fmt.Errorf("%v: %w", c.Process, err)
	}
	kept.run = nil
	if kept.writing != nil {
		go n.reportSaved(kept.writing)
	}
	done, ended := make(chan error, 1), true
	go func() { done <- n.play() }()
	go n.leaveWhenAsked()
	select {
	case err = <-done:
		if errors.Is(err, member.ErrSpare) {
			kept.drop()
			err = nil // the next part may have a role for this process
		}
	case <-n.member.Context().Done():
		err = context.Cause(n.member.Context())
		if ctx.Err() != nil {
			err = fmt.Errorf("%v was interrupted", c.Process)
		}
		select {
		case <-done:
		case <-time.After(stopTimeout): // the process ends, and the work with it
			ended = false
		}
	}
	if ended {
		n.closeRedo(err == nil, n.member.Continues())
	}
	if err = n.leave(err); err != nil {
		data.Abort()
		// A process that has lost what the others hold joins again, even if the host is slow to say so.
		again := n.member.Continues() || c.HostReturn && errors.As(err, new(*member.HostError)) ||
			errors.As(err, new(*driver.LostError))
		if ended && ctx.Err() == nil && again && n.member.ReadsEnd(stopTimeout) {
			kept.drop()
			n.Log(fmt.Sprintf("%v; waiting for the next part of the run", err))
			return ErrContinues
		}
		return err
	}
	if err = data.Close(); err == nil && n.member.Continues() {
		kept.keep(n.run)
		return ErrContinues
	}
	return err
}

// leave leaves the run: see member.Member.Leave. A process that has lost what computes its network dies with
// it if its ranks can come back, and take what others have. Else the checkpoint remains.
func (n *node) leave(err error) error {
	switch {
	case !errors.Is(err, model.ErrLost):
		return n.member.Leave(err)
	case n.cfg != nil && n.cfg.RankRecovery:
		_ = n.member.Leave(nil) // in the middle of a run it is a death
		return err
	}
	return n.member.Leave(&driver.LostError{Reason: err.Error()})
}

// node is this process during a run.
type node struct {
	Config
	seat     job.Process // the roles with which it was started
	endpoint *transport.Endpoint
	member   *member.Member

	kept      *Kept
	run       [16]byte      // id of the part of the run
	connected chan struct{} // closed when the process has connected to the others
	built     chan struct{} // closed when the fields below are set
	cfg       *role.Config
	executor  *exec.Executor
	local     *driver.Local
	sums      *allreduce.Ordered // nil unless some ranks are in this process and some are not
	endSums   context.CancelCauseFunc

	redo     []*redo.Log
	peers    peers
	events   *eventLog
	reported time.Time // when progress was last reported
	steps    int
}

// play is the process from its welcome to the end of the run.
func (n *node) play() error {
	if err := n.prepare(); err != nil {
		return n.named(err)
	}
	start, ranks, err := n.member.Ready(trainingModel{n})
	if err == nil && ranks != nil {
		err = n.setRank(*ranks)
	}
	if err != nil {
		return err
	}
	if n.Started != nil {
		n.Started()
	}
	go n.handleChanges()
	go n.drainWhenAsked()
	n.events = startEventLog(n.member.Records, func() unit.Tick { return unit.Tick(time.Since(start)) })
	err = n.local.Run(n.member.Context(), start)
	if errors.Is(err, role.ErrBatchLost) {
		err = &driver.LostError{Reason: err.Error()} // the checkpoint remains
	}
	if err = cmp.Or(err, n.events.close()); err != nil {
		return err
	}
	return n.member.Report(n.local.Report(), finalModel{n})
}

// setRank gives the ranks of this process, which is back, what those of another have.
func (n *node) setRank(s exec.RankState) error {
	if n.Recorder != nil { // a replay would not have these parameters
		return &driver.LostError{Reason: fmt.Sprintf("%v is recorded, and so does not come back alone",
			n.seat)}
	}
	if err := n.local.SetRank(s); err != nil {
		return &driver.LostError{Reason: err.Error()}
	}
	return nil
}

// endIfAsked returns a context that ends when this process is asked to end before joined is called.
func (n *node) endIfAsked(ctx context.Context) (_ context.Context, joined func()) {
	ctx, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-n.Asked:
			end(errors.New("it was asked to end before it had joined"))
		case <-done:
		}
	}()
	return ctx, func() { close(done) }
}

// leaveWhenAsked asks the host to end the run when this process is asked to end.
func (n *node) leaveWhenAsked() {
	select {
	case <-n.Asked:
		// An error means that the host is gone, which member.Member notices.
		_ = n.member.Leaving()
	case <-n.member.Context().Done():
	}
}

// drainWhenAsked ends the run of the roles when the host says so.
func (n *node) drainWhenAsked() {
	select {
	case <-n.member.Draining():
		n.local.Drain()
	case <-n.member.Context().Done():
	}
}

// restore replaces the part of the model that is in this process by that of the model to begin with.
func (n *node) restore(from driver.Origin) error {
	if from.Model != "" && n.Process.HoldsModel() {
		model, err := checkpoint.Open(from.Model)
		if err != nil && from.Held {
			return &driver.LostError{Reason: fmt.Sprintf("it was started again, and its part of the model "+
				"after %d steps, which it held, cannot be read yet", from.Step)}
		}
		if err != nil {
			return &driver.ModelError{Reason: fmt.Sprintf("%v; all processes must reach this folder under "+
				"the same path", err)}
		}
		if _, err = model.Restore(n.executor.Model().State()); err == nil {
			n.kept.chain.Begin(model)
		}
		if err = errors.Join(err, model.Close()); err != nil {
			return &driver.ModelError{Reason: err.Error()}
		}
	}
	n.executor.BeginAt(from.Step) // after the model is restored, whose weights it counts from
	return nil
}

// named puts the name of the process before an error of this process.
func (n *node) named(err error) error {
	if n.member.Context().Err() != nil {
		return context.Cause(n.member.Context())
	}
	return fmt.Errorf("%v: %w", n.seat, err)
}

// asLoss returns an error of connecting as a loss, after which training begins again, if a process cannot be
// reached that could be reached earlier in the run.
func asLoss(err error, from driver.Origin) error {
	if from.Model != "" && errors.As(err, new(*transport.UnreachableError)) {
		return &driver.LostError{Reason: err.Error()}
	}
	return err
}

// prepare makes the executor and the roles, and connects to the other processes.
func (n *node) prepare() error {
	welcome, err := n.member.Welcome()
	if err != nil {
		return err
	}
	n.run, n.steps = welcome.Run, welcome.Steps
	n.takeRoles(welcome)
	faults := n.Job.Faults.Between(welcome.Origin.Step, welcome.Origin.Step+welcome.Steps, true)
	if welcome.Incarnation > 0 {
		faults.Crashes = nil // they have taken place
	}
	n.peers.begin(welcome.Redo != "", n.Job.Roles.RankRecovery && n.Job.Roles.Ranks > 1)
	n.endpoint.SetSilence(2 * n.member.HangLimit()) // so that the host notices a hang first
	if err := n.endpoint.Begin(welcome.Run, welcome.Incarnation, welcome.View); err != nil {
		return err
	}
	n.Job.Rows.Hot.SetRows(welcome.Origin.Hot)
	if err := n.makeExecutor(welcome); err != nil {
		return err
	}
	if n.cfg, err = n.Job.RoleConfig(n.executor.Model().Layout(), welcome.Origin.Step,
		welcome.Steps); err != nil {
		return err
	}
	n.cfg.Retry = cmp.Or(n.cfg.Retry, processRetry)
	if n.cfg.RankRecovery {
		n.cfg.ProcessOf = job.ProcessNumbers(welcome.Processes(), n.Job.Roles.EmbeddingWorkers,
			n.Job.Roles.Ranks)
	}
	options := driver.Options{
		Observers: []event.Observer{n}, Recorder: n.Recorder,
		Faults: &faults, Slow: n.Job.Slow, Incarnation: welcome.Incarnation,
		Redone: n.redone,
	}
	if welcome.Redo != "" {
		options.Redo = func(at msg.Address) (driver.RedoLog, error) { return n.openRedo(welcome, at) }
	}
	if n.Observer != nil {
		options.Observers = append(options.Observers, n.Observer)
	}
	if every := n.Job.Training.EvaluateEvery; every != (job.Every{}) {
		asking := asking{every: every, begin: welcome.Origin.Step}
		options.BeforeStep = func(step int, _ evaluation.State) error {
			if !asking.isDue(step, time.Now()) {
				return nil
			}
			return n.member.BeforeStep(step)
		}
	}
	if n.local, err = driver.NewLocal(n.cfg, n.executor, options, n.Process.Has, n); err != nil {
		return err
	}
	if welcome.Draining {
		n.local.Drain()
	}
	if err := n.joinAllReduce(); err != nil {
		return err
	}
	close(n.built)
	if err := n.connect(welcome); err != nil {
		return asLoss(err, welcome.Origin)
	}
	close(n.connected)
	return nil
}

// takeRoles makes the roles of the process and the numbers of roles those of a welcome: they differ from
// those of the job in a part of a run that goes on with fewer processes.
func (n *node) takeRoles(w *member.Welcome) {
	n.Process = w.Roles
	n.endpoint.SetRoles(n.Process)
	n.Job.Roles = rolesOf(w.Processes(), n.Job.Roles)
}

// joinAllReduce makes this process's end of the all-reduces, if the ranks are in several processes.
func (n *node) joinAllReduce() (err error) {
	var local []int
	for i := range n.cfg.Ranks {
		if n.Process.Has(msg.Address{Role: msg.NNWorker, Index: i}) {
			local = append(local, int(i))
		}
	}
	if len(local) == 0 || len(local) == int(n.cfg.Ranks) {
		return nil
	}
	layout := n.executor.Model().Layout()
	most := max(layout.Params+n.Job.HotValues(), layout.Running)
	c := allreduce.Config{
		Recovers: n.cfg.RankRecovery, Buckets: 2 * (len(n.cfg.Buckets) + 1), // the last with statistics
		Send:   func(chunks []exec.Letter) error { return n.Send(n.member.Context(), chunks) },
		Values: most, Small: int(driver.TogetherMost / 4),
		Stats: max(n.Job.GroupsPerRank()*layout.Stats, dense.GatherLeast),
	}
	for i := range n.cfg.Ranks {
		c.Members = append(c.Members, msg.Address{Role: msg.NNWorker, Index: i})
	}
	var ctx context.Context
	ctx, n.endSums = context.WithCancelCause(n.member.Context())
	n.sums, err = allreduce.NewOrdered(ctx, c, local)
	return err
}

// source returns the samples for training or, in processes without the data loader, a source without samples.
func (n *node) source(w *member.Welcome) (batch.Source, error) {
	if !n.Process.Has(msg.Address{Role: msg.DataLoader}) {
		return remoteSource{w.Schema, w.Origin.Step + w.Steps}, nil
	}
	source, err := n.Open()
	if err != nil {
		return nil, err
	}
	if steps := w.Origin.Step + w.Steps; source.Steps() < steps ||
		!reflect.DeepEqual(source.Schema(), w.Schema) {
		return nil,
			fmt.Errorf("the data differ from the host's: %d steps here, %d there; give both the same files",
				source.Steps(), steps)
	}
	return source, nil
}

// remoteSource is the source in processes without the data loader: schema and steps without samples.
type remoteSource struct {
	schema *batch.Schema
	steps  int
}

func (d remoteSource) Schema() *batch.Schema { return d.schema }
func (d remoteSource) Steps() int            { return d.steps }
func (d remoteSource) Samples(int) int {
	panic("process: only the process of the data loader has samples")
}
func (d remoteSource) Read(int) (*batch.Batch, error) {
	return nil, errors.New("process: only the process of the data loader has samples")
}

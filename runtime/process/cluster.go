package process

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
	"tandem/runtime/grpcnet"
	"tandem/runtime/identity"
	"tandem/runtime/member"
)

// Options describe a run in several processes.
type Options struct {
	Listen      string // HOST:PORT of the host; port 0 is any free one, for all parts of the run
	Job         job.Job
	Fingerprint []byte // fingerprint of the resolved job
	Data        []byte // fingerprint of its data files
	// Command returns the program and arguments of a process. Nil means that the user starts the processes.
	Command func(Start) []string
	// Environment is added to this process's environment for the processes, as KEY=VALUE.
	Environment []string
	// Gathering, if not nil, is called with the processes that have yet to join, each time that the list
	// changes.
	Gathering func(host string, run [16]byte, missing []job.Process)
	// Stderr, if not nil, receives lines about refusals, deaths and returns, each after Prefix, and the
	// stacks of processes that panic.
	Stderr io.Writer
	Prefix string
	// Drains says that the run drains when a process is asked to end; otherwise it fails.
	Drains bool
	// Redo is the folder, on the machine of each process, in which PSs keep their inputs to come back with
	// nothing lost: see package redo. Empty: they do not come back.
	Redo string
	// Fewer says that the run goes on without the processes that do not come back within Limits.Return, if
	// its mode can, until they are there again.
	Fewer bool
	// TakesOver says that the processes were those of another host: with Fewer, they are awaited no longer
	// than in later parts of a run.
	TakesOver bool
	// Identity, if not nil, is that of the host: see member.Plan. Command and Environment must give each
	// process its own.
	Identity *identity.Identity
	// Refused, if not nil, receives the kind of every refusal of the host.
	Refused func(kind string)
	// Recorded says that the processes record their roles.
	Recorded bool
	Limits
}

// Limits bound silence, absence and deaths of processes. A duration of 0 stands for its default.
type Limits struct {
	Hang time.Duration // how long a process may be silent; default member.DefaultHangLimit
	// Return is how long a process that died may take to be ready again; the default is
	// member.DefaultReturnLimit.
	Return time.Duration
	// Deaths is the number of deaths that each process that can restart may recover from. With 0, every death
	// ends the run.
	Deaths int
}

// limitMin is the shortest limit that scheduling delays alone do not exceed.
const limitMin = 100 * time.Millisecond

// Validate returns an error that names the first invalid limit.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name  string
		limit time.Duration
	}{{"hang-limit", l.Hang}, {"return-limit", l.Return}} {
		if f.limit != 0 && f.limit < limitMin {
			return fmt.Errorf("%s = %v; want at least %v", f.name, f.limit, limitMin)
		}
	}
	if l.Deaths < 0 {
		return fmt.Errorf("deaths = %d; want 0 or more", l.Deaths)
	}
	return nil
}

// Start is what a process must know to join.
type Start struct {
	Process job.Process // its roles
	Host    string      // HOST:PORT of the host
	Run     [16]byte    // id of the run
}

// Arguments returns the arguments of `node`, and of `train`, that start the process, but for those that say
// where its job is.
func (s Start) Arguments() []string {
	arguments := []string{"process"}
	for _, at := range s.Process {
		arguments = append(arguments, at.Role.String(), strconv.Itoa(int(at.Index)))
	}
	return append(arguments, "--host", s.Host, "--run", hex.EncodeToString(s.Run[:]))
}

// Cluster has the roles of one run in processes of their own, or of the parts of a run, one after another.
// The processes stay from part to part, if they can. It satisfies train.Cluster.
type Cluster struct {
	*member.Host // of the latest part; mu guards the pointer against goroutines other than that of Train
	options      Options
	address      string // of the host, in every part
	stderr       sync.Mutex
	mu           sync.Mutex
	processes    map[msg.Address]*child // the last process that was started, by its first role
	draining     bool                   // Drain was called
	before       []byte                 // id of the latest part that has ended without an error; nil: none
	export       *driver.Export         // the latest, of the part before; nil: none
	hosting      bool                   // Host is set

	// whole is the cast of the job, cast that of the latest part, next that which Roles has decided.
	whole, cast, next *cast
}

// New returns a Cluster whose processes are not started yet.
func New(o Options) *Cluster {
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	return &Cluster{options: o, processes: map[msg.Address]*child{}}
}

// Drain ends the run as soon as possible: see train.Cluster.
func (c *Cluster) Drain() {
	c.mu.Lock()
	c.draining = true
	host, hosting := c.Host, c.hosting
	c.mu.Unlock()
	if hosting {
		host.Drain()
	}
}

// begin begins a part with its host, and passes on an earlier request to drain.
func (c *Cluster) begin(host *member.Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Host, c.hosting = host, true
	if c.draining {
		c.Host.Drain()
	}
}

// Train trains every step: see train.Cluster.
func (c *Cluster) Train(ctx context.Context, cfg *role.Config, schema *batch.Schema, origin driver.Origin,
	callbacks driver.Callbacks) error {
	if err := c.options.Limits.Validate(); err != nil {
		return err
	}
	c.closeEarlier()
	c.recast()
	later, gatherLimit := c.address != "", time.Duration(0)
	if c.options.Fewer && (later || c.options.TakesOver) {
		gatherLimit = cmp.Or(c.options.Return, member.DefaultReturnLimit)
	}
	listener, err := c.listen()
	if err != nil {
		return err
	}
	c.address = listener.Addr().String()
	plan := member.Plan{
		Job: c.options.Fingerprint, Data: c.options.Data, Ranks: int(cfg.Ranks), Restartable: cfg.CanRestart,
		Schema: schema, Steps: int(cfg.Steps), Origin: origin, Before: c.before,
		Redo: c.options.Redo, Drains: c.options.Drains,
		Processes: c.cast.processes, Seats: c.cast.seats, Spare: c.cast.spare,
		Later: later, GatherLimit: gatherLimit,
		HangLimit: c.options.Hang, ReturnLimit: c.options.Return, DeathsMax: c.options.Deaths, Log: c.log,
		Identity: c.options.Identity, Refused: c.options.Refused,
	}
	if origin.Held {
		plan.Export = c.export
	}
	host, err := member.NewHost(listener, plan)
	if err != nil {
		return cmp.Or(err, listener.Close())
	}
	c.begin(host)
	hooks := member.Callbacks{Callbacks: callbacks, Gathering: func(missing []job.Process) {
		if c.options.Gathering != nil {
			c.options.Gathering(c.address, c.Host.Run(), missing)
		}
	}}
	if c.options.Command != nil {
		hooks.Died, hooks.Restart = c.died, c.restart
		if err := c.startMissing(); err != nil {
			return err
		}
	}
	c.before = nil
	if err = c.Host.Train(ctx, hooks); err == nil {
		run := c.Host.Run()
		c.before = run[:]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = false // the request does not concern the next part
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the run was interrupted: %w", context.Cause(ctx))
	}
	return err
}

// Export makes the processes begin to write their parts of the model: see train.Cluster.
func (c *Cluster) Export(ctx context.Context, folder string, fullEvery int) (e *driver.Export, err error) {
	e, err = c.Host.Export(ctx, folder, fullEvery)
	c.export = e
	return e, err
}

// startMissing starts the processes that the part before has not left. One without a role may fail to
// start: it is not missed.
func (c *Cluster) startMissing() error {
	for _, seat := range slices.Concat(c.cast.seats, c.cast.spare) {
		if c.continues(seat) {
			continue
		}
		if err := c.start(seat, 0); err != nil && isThere(seat, c.cast.seats) {
			return fmt.Errorf("cannot start %v: %w", seat, err)
		}
	}
	return nil
}

// Roles returns the numbers of roles of the next part, and whether some process changes its roles: see
// train.Cluster.
func (c *Cluster) Roles() (_ job.Roles, changed bool, err error) {
	if c.whole == nil {
		if c.whole, err = wholeCast(&c.options.Job); err != nil {
			return job.Roles{}, false, err
		}
		c.cast = c.whole
	}
	if c.next, err = c.castNext(); err != nil {
		return job.Roles{}, false, err
	}
	return c.next.roles, !c.next.equal(c.cast), nil
}

// castNext returns the cast of the next part: of the processes that are there when the latest part has ended.
func (c *Cluster) castNext() (*cast, error) {
	if c.Host == nil || !c.options.Fewer {
		return c.cast, nil
	}
	absent, waiting := c.Host.Absent(), c.Host.Waiting()
	if len(absent)+len(waiting) == 0 {
		return c.cast, nil
	}
	var there []job.Process
	for _, seat := range c.whole.seats {
		if isThere(seat, waiting) || isThere(seat, c.cast.seats) && !isThere(seat, absent) {
			there = append(there, seat)
		}
	}
	if len(there) == len(c.whole.seats) {
		return c.whole, nil
	}
	next, err := fewer(c.options.Job, c.whole.seats, there)
	if err != nil && len(absent) > 0 {
		err = fmt.Errorf("%v has not come back; %w", absent[0], err)
	}
	return next, err
}

// recast makes the next cast that of the part that begins, and says what changes.
func (c *Cluster) recast() {
	before := c.cast
	c.cast = c.next
	switch {
	case c.cast.equal(before):
	case c.cast == c.whole:
		c.log("all processes are there again, and have their roles")
	default:
		c.log(c.cast.compared(c.whole))
	}
}

// listenTimeout is how long another process may hold the port at which the next part is served.
const listenTimeout = 3 * time.Second

// listen listens where the processes join: in a later part at the same address.
func (c *Cluster) listen() (net.Listener, error) {
	for start := time.Now(); ; time.Sleep(limitMin) {
		listener, err := grpcnet.Listen(cmp.Or(c.address, c.options.Listen))
		if err == nil || c.address == "" || time.Since(start) > listenTimeout {
			return listener, err
		}
	}
}

// closeEarlier ends the part before, if there is one, and kills the processes that do not come to the next
// one: those that have died, hang, or do not leave.
func (c *Cluster) closeEarlier() {
	c.mu.Lock()
	hosting := c.hosting
	c.hosting = false
	c.mu.Unlock()
	if !hosting {
		return
	}
	for _, p := range c.Host.CloseContinued() {
		if c.options.Command != nil {
			c.running(p).kill()
		}
	}
}

// continues makes the process with these roles one of the next part, and reports whether there is one.
func (c *Cluster) continues(roles job.Process) bool {
	p := c.running(roles)
	if p == nil || p.hasEnded() {
		return false
	}
	p.incarnation.Store(0)
	return true
}

// start starts an incarnation of a process.
func (c *Cluster) start(roles job.Process, incarnation uint32) error {
	command := c.options.Command(Start{roles, c.address, c.Host.Run()})
	p, err := startChild(roles, incarnation, command, c.options.Environment, childEvents{
		said:     func(p *child, line string) { c.log(fmt.Sprintf("%v: %s", p, line)) },
		panicked: c.panicked,
		ended:    c.ended,
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[roles[0]] = p
	return nil
}

// ended tells the host that a process has ended.
func (c *Cluster) ended(p *child) {
	c.mu.Lock()
	host, current := c.Host, c.processes[p.roles[0]] == p
	c.mu.Unlock()
	if current {
		host.Ended(p.roles, p.incarnation.Load(), p.why)
	}
}

// running returns the process with these roles that was started last; nil: none was.
func (c *Cluster) running(roles job.Process) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[roles[0]]
}

// died returns why a process has ended: see member.Callbacks.
func (c *Cluster) died(roles job.Process, incarnation uint32) string {
	if p := c.running(roles); p.incarnation.Load() == incarnation {
		return p.reason()
	}
	return ""
}

// restart kills a process, which may hang or be about to leave, and starts its next incarnation.
func (c *Cluster) restart(roles job.Process, incarnation uint32) error {
	if c.options.Recorded {
		c.log(fmt.Sprintf("the recording of %s is cut short, and the run cannot be replayed", roles.Names()))
	}
	c.running(roles).kill()
	return c.start(roles, incarnation)
}

// log writes a line to Stderr.
func (c *Cluster) log(line string) {
	c.stderr.Lock()
	defer c.stderr.Unlock()
	fmt.Fprintln(c.options.Stderr, c.options.Prefix+line)
}

// panicked writes the stack of a process to Stderr.
func (c *Cluster) panicked(p *child, stack string) {
	c.stderr.Lock()
	defer c.stderr.Unlock()
	fmt.Fprintf(c.options.Stderr, "%s%v has ended with a panic:\n%s", c.options.Prefix, p, stack)
}

// Close ends all processes: see train.Cluster.
func (c *Cluster) Close(failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var leaving sync.WaitGroup
	if c.hosting {
		c.hosting = false
		leaving.Go(func() { c.Host.Close(failed) })
	}
	for _, p := range c.processes {
		leaving.Go(p.waitOrKill)
	}
	leaving.Wait()
}

// PrintMissing returns a function for Options.Gathering. It writes to w, one line each time, what a user
// needs to know who starts the processes by hand.
func PrintMissing(w io.Writer) func(host string, run [16]byte, missing []job.Process) {
	before := 0
	return func(host string, run [16]byte, missing []job.Process) {
		if before == 0 || len(missing) > before {
			fmt.Fprintf(w, "waiting for %d processes at %s, run %x\n", len(missing), host, run)
		} else if len(missing) < before {
			fmt.Fprintf(w, "%d more; next: %v\n", len(missing), missing[0])
		}
		before = len(missing)
	}
}

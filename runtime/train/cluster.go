package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// Cluster has the roles of one run in other processes. process.Cluster is one.
type Cluster interface {
	// Roles returns the numbers of roles with which the next call of Train trains: those of the job, or fewer
	// after processes have not come back. If some process has other roles than in the call before, changed is
	// true, and the origin of the next call must not be held. The error says why there is no smaller number.
	Roles() (_ job.Roles, changed bool, err error)
	// Train trains every step of cfg, from an origin on. After it has returned nil, the model can be read
	// until Close, or until Train is called again. It returns driver.ErrNotBegun if Drain is called while it
	// waits for the processes. After a *driver.LostError or a *driver.ModelError, of this method or of one
	// that reads the model, Train may be called again.
	Train(ctx context.Context, cfg *role.Config, schema *batch.Schema, origin driver.Origin,
		callbacks driver.Callbacks) error
	// Drain ends training as soon as possible: the record EndDecided says where. It may be called from any
	// goroutine, before or during Train.
	Drain()
	// ReadRows copies rows of a PS, from within Callbacks.BeforeStep or after Train: see evaluation.State.
	ReadRows(ctx context.Context, server int, signs []uint64, dst []float32) error
	// Digests returns the digests of each process with a part of the model, after Train.
	Digests(ctx context.Context) ([]driver.Digests, error)
	// ReadDense copies the part of the dense network that one role holds, from within Callbacks.BeforeStep or
	// after Train. exec.ModelState.DenseHolders lists the roles that hold parts.
	ReadDense(ctx context.Context, at msg.Address) (model.Values, error)
	// Export makes every process begin to write its part of the model, as it is after Train, into a folder
	// that all can reach: rows to files of their own and all else to files with names. They go on writing
	// while Train trains from an origin that they hold. The export before must be done. Of fullEvery exports
	// of a process one has all rows, and the others write those that have changed since the one before.
	Export(ctx context.Context, folder string, fullEvery int) (*driver.Export, error)
	// AwaitExport waits, after Train, until the latest export is done, and returns its error.
	AwaitExport(ctx context.Context, e *driver.Export) error
	// Reports returns the report of each process.
	Reports() []driver.Report
	// Wall returns the duration of training.
	Wall() time.Duration
	// Close ends the processes and waits until they have ended. If the run has failed, the processes receive
	// the reason.
	Close(failed error)
}

// apart has what the segments of a training with roles in other processes share.
type apart struct {
	job       *job.Job
	source    batch.Source
	model     *exec.ModelState // without parameters
	evaluator *evaluator
	state     clusterState
	options   *Options
	result    *Result
	pause     *Pause    // before the segment that begins; nil: none
	saved     time.Time // when the model of the pause was
	began     time.Time // when the latest segment did
	// unfinished is the model that the processes write; nil: none.
	unfinished *unfinished

	again    choices   // of hot rows
	origins  []origin  // from which training can begin, the latest last
	restarts int       // since the latest origin was added
	done     int       // steps that rank 0 has trained
	lost     time.Time // of the loss that training recovers from; zero: it does not recover
}

// origin is where a training can begin, with what it had counted before.
type origin struct {
	driver.Origin
	counted counted
}

// runCluster trains as runRoles does, with the roles in other processes.
func runCluster(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (probabilities []float32, err error) {
	executor, err := exec.NewLocal(*t, source, o.Backend, func(msg.Address) bool { return false })
	if err != nil {
		return nil, err
	}
	none := executor.Model()
	if err := t.CheckLength(source.Steps()); err != nil {
		return nil, err
	}
	state := clusterState{ctx, o.Cluster, none}
	e := newEvaluator(t, source, test, none.NewTestSet(test), o.Begin.Step, o.Evaluated)
	defer func() { result.Curve = e.close() }()
	a := &apart{job: t, source: source, model: none, evaluator: e, state: state, options: &o, result: result,
		again: choices{t, source, test, executor, e, result, o.End}}
	defer a.giveUp()
	a.origins = []origin{{Origin: driver.Origin{Step: o.Begin.Step, Model: o.Begin.Folder,
		Hot: t.Rows.Hot.Rows()}}}
	for {
		probabilities, err := a.trainOn(ctx)
		if err == nil {
			return probabilities, nil
		}
		if err := a.recover(ctx, err); err != nil {
			return nil, err
		}
	}
}

// trainOn trains from the latest origin to the end, and adds an origin whenever the model is saved. It
// returns the predictions of the trained model for the test rows.
func (a *apart) trainOn(ctx context.Context) (probabilities []float32, err error) {
	o := a.options
	for from := a.origins[len(a.origins)-1]; ; {
		end, drain, goesOn, err := a.train(ctx, from.Origin)
		if err != nil {
			return nil, err
		}
		if end == o.End {
			break
		}
		saves := o.SaveApart != nil && end > from.Step
		if saves {
			if err := a.save(ctx, end, drain); err != nil {
				return nil, err
			}
		}
		if !goesOn || o.drained() {
			return nil, cmp.Or(a.settle(ctx), error(&DrainedError{end}))
		}
		if from.Held = true; !saves {
			continue
		}
		if from, err = a.next(ctx, from.Step, end); err != nil {
			return nil, err
		}
	}
	if err := a.await(ctx); err != nil {
		return nil, err
	}
	return a.trained(ctx)
}

// next returns where the segment begins after a step at which the model is being saved.
func (a *apart) next(ctx context.Context, earlier, step int) (from origin, err error) {
	others, err := a.again.between(earlier, step)
	if err != nil {
		return from, err
	}
	from = a.unfinished.origin
	from.Hot, from.counted = a.job.Rows.Hot.Rows(), a.result.counts()
	a.unfinished.origin = from
	if others { // rows that change their owners are read from the model
		return from, a.settle(ctx)
	}
	from.Held = true
	return from, nil
}

// trained sets the result of a training whose last step is trained, and returns the predictions.
func (a *apart) trained(ctx context.Context) (probabilities []float32, err error) {
	o := a.options
	a.result.Wall = a.began.Sub(a.evaluator.start) + o.Cluster.Wall()
	digests, err := o.Cluster.Digests(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.result.gather(o.Cluster.Reports(), digests, a.model); err != nil {
		return nil, err
	}
	err = o.TrainedApart(a.model.State(), func(folder string) ([]string, error) {
		return a.exportAll(ctx, folder)
	})
	if err != nil {
		return nil, err
	}
	return a.evaluator.evaluation.Evaluate(a.state)
}

// train trains in processes from an origin on, to the next step at which the model is saved, or to an earlier
// one if the roles drain. It returns that step, how long the last role has worked after the last step of rank
// 0, and whether training goes on after it has been saved.
func (a *apart) train(ctx context.Context, from driver.Origin) (end int, drain time.Duration, goesOn bool,
	err error) {
	t, o, first := a.job, a.options, from.Step
	if from.Held, err = a.cast(ctx, from.Held); err != nil {
		return 0, 0, false, err
	}
	cfg, err := t.RoleConfig(a.model.Layout(), first, o.segmentEnd(first)-first)
	if err != nil {
		return 0, 0, false, err
	}
	meter, last := pace.NewMeter(t.Roles.Ranks, t.Roles.EmbeddingPSs), &lastStep{end: cfg.Steps}
	observers := []event.Observer{meter, last}
	if o.Observer != nil {
		observers = append(observers, shifted{o.Observer, int32(first)})
	}
	begun := make(chan func(), 1)
	var earlier <-chan struct{}
	if a.unfinished != nil {
		earlier = a.unfinished.ended
	}
	ended := o.drainWhenDue(o.Cluster.Drain, begun, o.saveAfter(a.restarts), earlier)
	err = o.Cluster.Train(ctx, cfg, a.source.Schema(), from, driver.Callbacks{
		Started:    func(drain func()) { a.started(); begun <- drain },
		Progress:   func(steps int) { a.done = first + steps; o.Progress(a.done, o.End) },
		Loss:       o.Backend.ReportLoss,
		Redone:     func(took, of time.Duration) { o.replayed(Replay{took, of}, a.result) },
		BeforeStep: func(step int) error { return a.evaluator.beforeStep(first+step, a.state) },
		Observe: func(r event.Record) {
			for _, each := range observers {
				each.Observe(r)
			}
		},
	})
	due := ended()
	if errors.Is(err, driver.ErrNotBegun) {
		return first, 0, false, nil
	}
	if err != nil {
		return 0, 0, false, err
	}
	for _, report := range o.Cluster.Reports() {
		a.result.MissedUpdates.Merge(&report.Missed)
		a.result.HotGradients += report.HotGradients
		a.result.Faults = a.result.Faults.Add(report.Faults)
	}
	a.done = first + int(last.end)
	return a.done, o.Cluster.Wall() - time.Duration(last.at), due || last.end == cfg.Steps,
		a.result.measured(cfg, meter)
}

// cast makes the numbers of roles those of the processes that are there. It reports whether the processes,
// which hold the origin of the next segment or not, go on with what they hold. If roles change they do not,
// and all read the model, which is complete when cast returns.
func (a *apart) cast(ctx context.Context, held bool) (goOn bool, err error) {
	roles, changed, err := a.options.Cluster.Roles()
	if err != nil {
		return false, err
	}
	if changed && held {
		held = false
		if err := a.settle(ctx); err != nil {
			return false, err
		}
	}
	if roles.SameNumbers(a.job.Roles) {
		return held, nil
	}
	a.job.Roles, a.result.Job.Roles = roles, roles
	executor, err := exec.NewLocal(*a.job, a.source, a.options.Backend,
		func(msg.Address) bool { return false })
	if err != nil {
		return false, err
	}
	a.again.executor, a.model = executor, executor.Model()
	a.state = clusterState{a.state.ctx, a.options.Cluster, a.model}
	a.evaluator.evaluation = a.model.NewTestSet(a.again.test)
	return held, nil
}

// started notes that a segment begins, and how long the pause before it was.
func (a *apart) started() {
	first := a.began.IsZero()
	if a.began = time.Now(); first {
		a.evaluator.start = a.began
	}
	a.recovered()
	a.endPause()
}

// endPause notes how long the pause was that ends, if there is one.
func (a *apart) endPause() {
	if a.pause == nil {
		return
	}
	a.pause.Start = time.Since(a.saved)
	a.options.paused(*a.pause, a.result)
	a.pause = nil
}

// gather sets what the processes have reported, and the digests of what they hold.
func (r *Result) gather(reports []driver.Report, of []driver.Digests, model *exec.ModelState) error {
	r.Processes, r.Rows = len(reports), 0
	for _, report := range reports {
		r.Rows += report.Rows
	}
	all := map[msg.Address]uint64{}
	for _, one := range of {
		maps.Copy(all, one.Roles)
	}
	hot, err := hotDigest(of)
	if err != nil {
		return err
	}
	r.RowsDigest, r.HotRows = hot, r.Job.ShardPlan().Hot().Len()
	for i := range r.Job.Roles.EmbeddingPSs {
		r.RowsDigest += all[msg.Address{Role: msg.EmbeddingPS, Index: int32(i)}]
	}
	holders := model.DenseHolders()
	var digests []uint64
	for _, at := range holders {
		digests = append(digests, all[at])
	}
	r.DenseDigest = exec.FoldDigests(digests)
	if rank0 := (msg.Address{Role: msg.NNWorker}); len(holders) == 1 && holders[0] == rank0 {
		return checkReplicas(all, r.Job.Roles.Ranks)
	}
	return nil
}

// hotDigest returns the digest of the hot rows, which all ranks must hold alike; 0 if no row is hot.
func hotDigest(of []driver.Digests) (digest uint64, err error) {
	for _, one := range of {
		digest = cmp.Or(digest, one.Hot)
		if one.Hot != 0 && one.Hot != digest {
			return 0, errors.New("the hot rows of two processes differ after training in lock step: this " +
				"is a bug of Tandem or a fault of a machine")
		}
	}
	return digest, nil
}

// checkReplicas checks that ranks that trained in lock step have equal replicas.
func checkReplicas(digests map[msg.Address]uint64, ranks int) error {
	first := msg.Address{Role: msg.NNWorker}
	for i := range ranks {
		at := msg.Address{Role: msg.NNWorker, Index: int32(i)}
		if digests[at] != digests[first] {
			return fmt.Errorf("the dense networks of %v and %v differ after training in lock step: this is "+
				"a bug of Tandem or a fault of a machine", first, at)
		}
	}
	return nil
}

// clusterState is a Cluster as an evaluation.State. Its model holds no parameters; it knows how parts are
// joined.
type clusterState struct {
	ctx     context.Context
	cluster Cluster
	model   *exec.ModelState
}

// ReadRows implements evaluation.State. It asks for the rows of one dimension at a time.
func (s clusterState) ReadRows(server int, signs []uint64, dst []float32) error {
	dims := s.model.State().Schema().Dims()
	byDim, err := dims.Cut(signs)
	for place := 0; place < len(byDim) && err == nil; place++ {
		own := dst
		if len(byDim) > 1 {
			own = dst[:len(byDim[place])*dims.Lengths()[place]]
		}
		err = s.cluster.ReadRows(s.ctx, server, byDim[place], own)
		dst = dst[len(own):]
	}
	return err
}

// ReadDense implements evaluation.State.
func (s clusterState) ReadDense() (model.Values, error) {
	var parts []model.Values
	for _, at := range s.model.DenseHolders() {
		part, err := s.cluster.ReadDense(s.ctx, at)
		if err != nil {
			return model.Values{}, err
		}
		parts = append(parts, part)
	}
	return s.model.JoinDense(parts), nil
}

package train

import (
	"cmp"
	"context"
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
	// Train trains every step of cfg, from an origin on. After it has returned nil, the model can be read
	// until Close.
	Train(ctx context.Context, cfg *role.Config, schema *batch.Schema, origin driver.Origin,
		callbacks driver.Callbacks) error
	// Drain ends training as soon as possible: the record EndDecided says where. It may be called from any
	// goroutine, before or during Train.
	Drain()
	// ReadRows copies rows of a PS, from within Callbacks.BeforeStep or after Train: see evaluation.State.
	ReadRows(ctx context.Context, server int, signs []uint64, dst []float32) error
	// ReadDense copies the part of the dense network that one role holds, from within Callbacks.BeforeStep or
	// after Train. exec.ModelState.DenseHolders lists the roles that hold parts.
	ReadDense(ctx context.Context, at msg.Address) (model.Values, error)
	// Export makes every process write its part of the trained model into a folder that all can reach, rows
	// to files of their own and all else to files whose names Export returns.
	Export(ctx context.Context, folder string) (names []string, err error)
	// Reports returns the report of each process.
	Reports() []driver.Report
	// Wall returns the duration of training.
	Wall() time.Duration
	// Close ends the processes and waits until they have ended. If the run has failed, the processes receive
	// the reason.
	Close(failed error)
}

// runCluster trains as runRoles does, with the roles in other processes.
func runCluster(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (*trained, error) {
	executor, err := exec.NewLocal(*t, source, o.Backend, func(msg.Address) bool { return false })
	if err != nil {
		return nil, err
	}
	none := executor.Model()
	if err := t.CheckLength(result.Steps); err != nil {
		return nil, err
	}
	cfg, err := t.RoleConfig(none.Layout(), result.Steps)
	if err != nil {
		return nil, err
	}
	first := o.Begin.Step
	evaluation, state := none.NewTestSet(test), clusterState{ctx, o.Cluster, none}
	e := newEvaluator(t, source, test, evaluation, first, o.Evaluated)
	defer func() { result.Curve = e.close() }()
	meter, last := pace.NewMeter(t.Roles.Ranks, t.Roles.EmbeddingPSs), &lastStep{end: cfg.Steps}
	observers := []event.Observer{meter, last}
	if o.Observer != nil {
		observers = append(observers, shifted{o.Observer, int32(first)})
	}
	ended := o.drainWhenDue(o.Cluster)
	err = o.Cluster.Train(ctx, cfg, source.Schema(), driver.Origin{Step: first, Model: o.Begin.Folder},
		driver.Callbacks{
			Started:    func() { e.start = time.Now() },
			Progress:   func(steps int) { o.Progress(first+steps, o.End) },
			BeforeStep: func(step int) error { return e.beforeStep(first+step, state) },
			Observe: func(r event.Record) {
				for _, each := range observers {
					each.Observe(r)
				}
			},
		})
	ended()
	if err != nil {
		return nil, err
	}
	if err := result.measured(cfg, meter); err != nil {
		return nil, err
	}
	export := func(folder string) ([]string, error) { return o.Cluster.Export(ctx, folder) }
	if end := first + int(last.end); end < o.End {
		if o.SaveApart != nil && end > first {
			err = o.SaveApart(end, none.State(), export)
		}
		return nil, cmp.Or(err, error(&DrainedError{end}))
	}
	result.Wall = o.Cluster.Wall()
	if err := result.gather(o.Cluster.Reports(), none); err != nil {
		return nil, err
	}
	return &trained{evaluation, state}, o.TrainedApart(none.State(), export)
}

// gather sets what the processes have reported.
func (r *Result) gather(reports []driver.Report, model *exec.ModelState) error {
	r.Processes = len(reports)
	all := map[msg.Address]uint64{}
	for _, report := range reports {
		maps.Copy(all, report.Digests)
		r.Rows += report.Rows
		r.MissedUpdates.Merge(&report.Missed)
		r.Faults = r.Faults.Add(report.Faults)
	}
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

// ReadRows implements evaluation.State.
func (s clusterState) ReadRows(server int, signs []uint64, dst []float32) error {
	return s.cluster.ReadRows(s.ctx, server, signs, dst)
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

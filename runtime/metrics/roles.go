package metrics

import (
	"slices"
	"strconv"
	"sync"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// Roles counts what the roles of a process do. It is an event.Observer with bounded memory: the stages of
// batches in progress, and counts.
type Roles struct {
	mu      sync.Mutex
	roles   []msg.Address
	counts  map[counted]uint64
	rows    map[msg.Address]uint64
	stages  map[msg.Address]*stages
	samples uint64
	loss    float64
}

// counted is a kind of event of a role.
type counted struct {
	at   msg.Address
	kind event.Kind
}

// stages sums the durations of the stages of a rank.
type stages struct {
	began map[stageOf]unit.Tick
	sum   pace.StageTimes
	count map[pace.Stage]uint64
}

// stageOf is a stage of a batch in progress.
type stageOf struct {
	stage pace.Stage
	step  int32
}

// NewRoles counts for some roles.
func NewRoles(roles []msg.Address) *Roles {
	return &Roles{roles: slices.Clone(roles), counts: map[counted]uint64{}, rows: map[msg.Address]uint64{},
		stages: map[msg.Address]*stages{}}
}

// Trained receives losses: see backend.Backend.
func (r *Roles) Trained(lossSum float64, samples int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loss, r.samples = r.loss+lossSum, r.samples+uint64(samples)
}

// Observe implements event.Observer.
func (r *Roles) Observe(e event.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[counted{e.Role, e.Kind}]++
	for _, rows := range e.Rows {
		r.rows[e.Role] += uint64(rows)
	}
	if e.Role.Role == msg.NNWorker {
		s := r.stages[e.Role]
		if s == nil {
			s = &stages{began: map[stageOf]unit.Tick{}, count: map[pace.Stage]uint64{}}
			r.stages[e.Role] = s
		}
		s.observe(e)
	}
}

// stagesMax is the number of stages in progress beyond which they are forgotten: stages of batches that were
// dropped never end.
const stagesMax = 1 << 14

func (s *stages) observe(e event.Record) {
	b := pace.BoundaryAt(e.Kind)
	if b.IsEnd {
		of := stageOf{b.Ends, e.Step}
		if at, ok := s.began[of]; ok {
			s.sum[b.Ends] += e.At - at
			s.count[b.Ends]++
			delete(s.began, of)
		}
	}
	if b.IsBegin {
		if len(s.began) >= stagesMax {
			clear(s.began)
		}
		s.began[stageOf{b.Begins, e.Step}] = e.At
	}
}

// Collect adds the metrics of the roles.
func (r *Roles) Collect(to *Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.roles {
		labels := []string{"role", at.Role.String(), "index", strconv.Itoa(int(at.Index))}
		to.Add(RoleInfo, 1, labels...)
		for kind := event.Kind(0); kind.Known(); kind++ {
			if count := r.counts[counted{at, kind}]; count > 0 {
				to.Add(Events, float64(count), append(labels[:4:4], "kind", kind.String())...)
			}
		}
		if rows := r.rows[at]; rows > 0 {
			to.Add(RowsRouted, float64(rows), labels...)
		}
		if s := r.stages[at]; s != nil {
			for stage := range s.sum {
				if count := s.count[pace.Stage(stage)]; count > 0 {
					to.AddSummary(StageTime, s.sum[stage].Seconds(), count,
						append(labels[:4:4], "stage", pace.Stage(stage).String())...)
				}
			}
		}
	}
	if r.samples > 0 {
		to.Add(TrainedSamples, float64(r.samples))
		to.Add(LossSum, r.loss)
	}
}

package evaluation

import (
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// State gives evaluation access to a model, during or after its training. Reading through a State creates no
// row, refreshes no row, counts no lookup and leaves staleness unchanged.
type State interface {
	// ReadRows copies the rows of signs, which PS server owns, to dst, in the order of batch.Dims. A row that
	// was never updated counts as zeros, whether or not a batch in flight has created it. One call reads all
	// its rows at one moment between two items of the PS's work; ReadRows may wait for that moment.
	ReadRows(server int, signs []uint64, dst []float32) error
	// ReadDense returns a copy of the values of the dense network.
	ReadDense() (model.Values, error)
}

// StartingState is a State of a training that can go on while rows are read.
type StartingState interface {
	State
	// StartRows is ReadRows without the wait for the rows: they are those of the moment that ReadRows would
	// have waited for. await waits until dst has them, or until the training ends without that. Before it
	// returns, dst must not be used, nor signs changed.
	StartRows(server int, signs []uint64, dst []float32) (await func() error)
}

// Snapshot is a copy of everything in a State that the predictions of a TestSet depend on.
type Snapshot struct {
	dense model.Values
	rows  []float32 // of TestSet.routed, owner after owner
	await []func() error
}

// Await waits until the snapshot is complete, which that of a StartingState is not at first.
func (s *Snapshot) Await() error {
	for _, await := range s.await {
		if err := await(); err != nil {
			return err
		}
	}
	return nil
}

// TestSet is a set of test rows that can be predicted repeatedly. Its methods are safe for concurrent use.
type TestSet struct {
	engine model.Engine
	schema *batch.Schema
	test   *batch.Batch
	routed route.ByDim
}

// NewTestSet resolves the ids of test rows, whose embedding rows are spread over PSs by a plan. Memory: 8
// bytes for each distinct id, and 4 for each id.
func NewTestSet(engine model.Engine, schema *batch.Schema, plan shard.Plan, test *batch.Batch) *TestSet {
	routed := route.RouteByDim(nil, schema, batch.Cut(test, 1, 1)[0], plan)
	return &TestSet{engine: engine, schema: schema, test: test, routed: routed}
}

// Snapshot copies the rows of the distinct ids of the test rows, and the dense network. The rows of a
// StartingState may come later: see Snapshot.Await. It returns the state's errors.
func (e *TestSet) Snapshot(s State) (*Snapshot, error) {
	dense, err := s.ReadDense()
	if err != nil {
		return nil, err
	}
	shot := &Snapshot{dense: dense, rows: make([]float32, e.routed.Values())}
	starting, starts := s.(StartingState)
	rest := shot.rows
	for p := range e.routed.Owners() {
		signs, n := e.routed.ShardSigns(p), e.routed.ShardValues(p)
		rows := rest[:n]
		rest = rest[n:]
		if starts {
			shot.await = append(shot.await, starting.StartRows(p, signs, rows))
		} else if err := s.ReadRows(p, signs, rows); err != nil {
			return nil, err
		}
	}
	return shot, nil
}

// Predict returns the predicted probabilities of every test row, test rows × labels, from a complete
// snapshot. Batch norm uses the running statistics, so the prediction of a row does not depend on the others.
// It returns the error of the engine.
func (e *TestSet) Predict(shot *Snapshot) ([]float32, error) {
	p := NewPredictor(e.engine, e.schema)
	return p.appendTo(make([]float32, 0, len(e.test.Labels)), e.routed, e.test, shot)
}

// Evaluate takes a snapshot of a state and predicts from it.
func (e *TestSet) Evaluate(s State) ([]float32, error) {
	shot, err := e.Snapshot(s)
	if err == nil {
		err = shot.Await()
	}
	if err != nil {
		return nil, err
	}
	return e.Predict(shot)
}

package evaluation

import (
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// Predictor predicts batches one after another in memory that it uses again. Only one goroutine may use it.
type Predictor struct {
	engine model.Engine
	schema *batch.Schema
	pass   model.Pass
	rows   []float32 // of the distinct ids
	pooled []float32
}

// evaluationBatch is the number of rows that are predicted at a time.
const evaluationBatch = 1024

// NewPredictor returns a Predictor. Memory: the values of all layers for 1024 samples.
func NewPredictor(engine model.Engine, schema *batch.Schema) *Predictor {
	return &Predictor{engine: engine, schema: schema, pass: engine.NewPass(evaluationBatch)}
}

// Predict appends the predicted probabilities of a batch, or numbers with squared loss, samples × labels, to
// dst. All embedding rows are read from PS 0 of the state.
func (p *Predictor) Predict(dst []float32, s State, rows *batch.Batch) ([]float32, error) {
	dense, err := s.ReadDense()
	if err != nil {
		return dst, err
	}
	part := batch.Part{Batch: rows, Bounds: []int{0, rows.Samples}}
	routed := route.RouteByDim(nil, p.schema, part, shard.Rows(1))
	p.rows = resize(p.rows, routed.Values())
	if err := s.ReadRows(0, routed.ShardSigns(0), p.rows); err != nil {
		return dst, err
	}
	return p.appendTo(dst, routed, rows, &Snapshot{dense: dense, rows: p.rows})
}

// appendTo appends the probabilities of samples whose ids are resolved. They mean nothing with an error.
func (p *Predictor) appendTo(dst []float32, routed route.ByDim, samples *batch.Batch,
	shot *Snapshot) ([]float32, error) {
	width, numbers := p.schema.EmbeddingWidth(), len(p.schema.Dense)
	layout := p.engine.Layout()
	var scratch []float32
	if routed.Gathers() {
		scratch = make([]float32, len(shot.rows))
	}
	byDim := routed.Gather(scratch, shot.rows)
	p.pooled = resize(p.pooled, min(evaluationBatch, samples.Samples)*width)
	for lo := 0; lo < samples.Samples; lo += evaluationBatch {
		hi := min(lo+evaluationBatch, samples.Samples)
		own := p.pooled[:(hi-lo)*width]
		for i, r := range routed.Routed {
			r.PoolSamples(own, nil, p.schema, byDim[i], routed.Dims[i], lo, hi)
		}
		in := model.Input{Samples: hi - lo, Embeddings: own, Dense: samples.Dense[lo*numbers : hi*numbers]}
		logits, _ := p.pass.Forward(shot.dense.Params, shot.dense.Running, in, false)
		for i, z := range logits {
			dst = append(dst, layout.Prediction(i%layout.Labels, z))
		}
	}
	if pass, ok := p.pass.(fallible); ok {
		if err := pass.Err(); err != nil {
			return dst, &PassError{err}
		}
	}
	return dst, p.engine.Err()
}

// fallible is a model.Pass that can fail to compute some samples, and can compute others afterwards.
type fallible interface {
	// Err returns why the calls of Forward since the last Err have failed, or nil.
	Err() error
}

// PassError says that the network could not be computed for some samples. It can be for others.
type PassError struct{ Err error }

// Error implements error.
func (e *PassError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *PassError) Unwrap() error { return e.Err }

// resize returns values of a length, in the same memory if it suffices.
func resize(values []float32, length int) []float32 {
	return slices.Grow(values[:0], length)[:length]
}

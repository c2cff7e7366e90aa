package work

import (
	"tandem/algo/batch"
	"tandem/algo/kernel"
	"tandem/algo/model"
	"tandem/algo/route"
	"tandem/algo/table"
)

// evaluationBatch is the number of rows that are evaluated at a time.
const evaluationBatch = 1024

// Evaluate returns the predicted probability of every row of test. It reads
// the shards without creating or refreshing a row; a row never trained counts
// as zeros, as in Persia. Batch norm uses the running statistics.
func Evaluate(engine model.Engine, dense *Dense, shards []*table.Table, schema *batch.Schema, test *batch.Batch) []float32 {
	pass := engine.NewPass(evaluationBatch)
	width := schema.EmbeddingWidth()
	probabilities := make([]float32, 0, test.Samples)
	for lo := 0; lo < test.Samples; lo += evaluationBatch {
		hi := min(lo+evaluationBatch, test.Samples)
		part := batch.Cut(batch.Slice(test, lo, hi), 1, 1)[0]
		routed := route.Route(schema, part, len(shards))
		dim := shards[0].Dim()
		rows := make([]float32, len(routed.Signs)*dim)
		for p, shard := range shards {
			shard.Peek(routed.Of(p), rows[int(routed.Bounds[p])*dim:int(routed.Bounds[p+1])*dim])
		}
		pooled := make([]float32, part.Samples*width)
		routed.Pool(pooled, schema, rows, dim)
		in := input(&part, pooled, width, 0)
		in.Labels = nil
		logits, _ := pass.Forward(dense.Params, dense.Running, in, false)
		for _, z := range logits {
			probabilities = append(probabilities, kernel.Sigmoid(z))
		}
	}
	return probabilities
}

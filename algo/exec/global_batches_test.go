package exec

import (
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/role"
)

// A row's gradient is the mean over the gradients that contain it, each a rank's mean; scaled over all, the
// mean over their samples. Puts of one rank and of several steps are one global batch.
func TestGBARowsAreDividedByTheGradientsThatContainThem(t *testing.T) {
	for scale, want := range map[string][3]float32{
		// Puts of 2, 2 and 4 samples: row 1 is in all three, row 2 in the second, row 3 in the last two.
		job.ScaleRank:   {(8./2 + 4./2 + 8./4) / 3, 6. / 2, (2./2 + 12./4) / 2},
		job.ScaleGlobal: {(8. + 4 + 8) / 8, 6. / 2, (2. + 12) / 6},
	} {
		settings := exectest.Job(2, 1)
		settings.Training.Mode, settings.Training.Scale, settings.Training.Merge = "gba", scale, ""
		settings.Rows.Optimizer = opt.RowSpec{Kind: "sgd", Rate: 1}
		p, store := mustNew(t, settings, exectest.NewColumns(16, 16)), NewStore()
		before, after := make([]float32, 9), make([]float32, 9)
		if err := p.Model().Tables()[0].Lookup([]uint64{1, 2, 3}, before); err != nil {
			t.Fatal(err)
		}
		var o role.Operands
		for i, put := range []struct {
			rank, step int32
			samples    int
			signs      []uint64
			sums       []float32 // one value a row
		}{{0, 0, 2, []uint64{1}, []float32{8}}, {0, 1, 2, []uint64{2, 1, 3}, []float32{6, 4, 2}},
			{1, 0, 4, []uint64{3, 1}, []float32{12, 8}}} {
			var sums []float32
			for _, sum := range put.sums {
				sums = append(sums, sum, sum, sum)
			}
			o.Reads = append(o.Reads, role.Handle{Kind: role.ShardGrads, Rank: put.rank, Step: put.step})
			store.set(o.Reads[i], &Put{Samples: put.samples, Signs: plain(put.signs...),
				Sums: compress.Pack(compress.FP32, sums)})
		}
		w := role.Work{Kind: role.ApplyStep, Step: 1}
		if _, err := p.Execute(server(0), store, w, o, nil); err != nil {
			t.Fatal(err)
		}
		p.Model().Tables()[0].Snapshot([]uint64{1, 2, 3}, after)
		for row, gradient := range want {
			if got := before[3*row] - after[3*row]; got < gradient-1e-5 || got > gradient+1e-5 {
				t.Errorf("%s: row %d moves by %v, want %v", scale, row+1, got, gradient)
			}
		}
	}
}

package process

import (
	"fmt"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/train"
)

// Ranks that train on GPUs and are killed, two of them in one process, come back with what others have:
// parameters, the two moments of Adam, statistics of batch norm and hot rows. Sync ends with the bits of a
// training on a GPU that nothing disturbs.
func TestKilledRanksOnGPUsComeBack(t *testing.T) {
	t.Parallel()
	libraries := softgpu.Folder(t)
	seeds := uint64(1)
	if *long {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			var logged log
			s := setting{Training: small(job.Sync), Steps: 100, stderr: &logged}
			s.Training.Training.Seed, s.Training.Wire.Retry = seed+1, 100*unit.Millisecond
			s.Training.Model.Device.CUDA, s.Training.Model.Optimizer.Kind = true, opt.Adam
			s.Training.Roles.RankRecovery, s.Training.Rows.Hot.Share = true, 0.02
			s.Training.Roles.Placement = twoRanksTogether(t, &s.Training)
			first, second := int32(0), int32(2)
			if seed%2 > 0 {
				first, second = second, first
			}
			k := newKiller(t, seed, s.Steps, msg.Address{Role: msg.NNWorker, Index: first},
				msg.Address{Role: msg.NNWorker, Index: second})
			var puts outcomes
			got, err := s.run(t.Context(), train.Options{Progress: k.progress, Observer: &puts},
				func(c *Cluster) {
					k.cluster = c
					c.options.Environment = append(c.options.Environment, "LD_LIBRARY_PATH="+libraries)
				})
			if err != nil {
				t.Fatal(err, logged.String())
			}
			puts.mustBeOne(t)
			t.Logf("killed after steps %d", k.at)
			if k.killed != 2 {
				t.Errorf("killed %d times: %s", k.killed, logged.String())
			}
			s.mustEqualUndisturbed(t, got)
		})
	}
}

// twoRanksTogether returns the placement of a job of four ranks in three processes, and of all other roles in
// one.
func twoRanksTogether(t *testing.T, j *job.Job) job.Placement {
	alone, err := j.Processes()
	if err != nil {
		t.Fatal(err)
	}
	var ranks, others job.Process
	for _, p := range alone {
		if p[0].Role == msg.NNWorker {
			ranks = append(ranks, p...)
		} else {
			others = append(others, p...)
		}
	}
	return job.Listed([]job.Process{others, ranks[:2], ranks[2:3], ranks[3:]})
}

// mustEqualUndisturbed checks the parameters of a run on GPUs against those of a run in this process, whose
// ranks share a GPU.
func (s setting) mustEqualUndisturbed(t *testing.T, got *train.Result) {
	t.Helper()
	gpus, err := engine.Open(softgpu.Libraries(t), &s.Training)
	if err != nil {
		t.Fatal(err)
	}
	rows := newRows(s.Steps)
	want, err := train.Run(t.Context(), s.Training, rows, rows.all,
		train.Options{Backend: backend.Backend{Trainer: gpus.Trainer}})
	if err != nil {
		t.Fatal(err)
	}
	if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest || want.HotRows == 0 {
		t.Errorf("dense %x, rows %x; undisturbed %x, %x, %d hot rows", got.DenseDigest, got.RowsDigest,
			want.DenseDigest, want.RowsDigest, want.HotRows)
	}
}

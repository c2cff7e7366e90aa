package train_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// agingData returns samples of 24 steps, whose ids come often, for some steps, or once.
func agingData() *exectest.Columns {
	c := exectest.NewColumns(16*24, 16)
	draw := rand.New(rand.NewPCG(3, 4))
	for s := range c.All.Slots {
		slot := &c.All.Slots[s]
		for sample := range c.All.Samples {
			for i := slot.Offsets[sample]; i < slot.Offsets[sample+1]; i++ {
				switch draw.IntN(3) {
				case 0:
					slot.IDs[i] = draw.Uint64N(8)
				case 1:
					slot.IDs[i] = 100 + uint64(sample/16)*5 + draw.Uint64N(30)
				default:
					slot.IDs[i] = 1000 + draw.Uint64N(400)
				}
			}
		}
	}
	return c
}

// idIn is an id of a slot.
type idIn struct {
	slot int
	id   uint64
}

// living returns the ids that have rows after the steps of some samples, read off the ids alone: rows that no
// step has read since a multiple of expiry go at the next, and counts of steps are forgotten in the same way.
func living(c *exectest.Columns, expiry, count int) []idIn {
	rows, seen, last := map[idIn]bool{}, map[idIn]int{}, map[idIn]int{}
	for step := range c.Steps() {
		if expiry > 0 && step%expiry == 0 {
			for one, when := range last {
				if when < step-expiry {
					delete(rows, one)
					delete(seen, one)
					delete(last, one)
				}
			}
		}
		for sample := 16 * step; sample < 16*(step+1); sample++ {
			for s, slot := range c.All.Slots {
				for _, id := range slot.IDs[slot.Offsets[sample]:slot.Offsets[sample+1]] {
					one := idIn{s, id}
					if when, known := last[one]; !known || when < step {
						seen[one]++
					}
					last[one] = step
					rows[one] = rows[one] || seen[one] >= max(count, 1)
				}
			}
		}
	}
	var all []idIn
	for one, has := range rows {
		if has {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, compareIDs)
	return all
}

func compareIDs(a, b idIn) int {
	if a.slot != b.slot {
		return a.slot - b.slot
	}
	return int(int64(a.id) - int64(b.id))
}

// rowsOf returns the ids that have rows. The groups of the two slots are the upper 8 bits of signs, in order.
func rowsOf(state exec.State) (all []idIn) {
	groups := map[uint64]bool{}
	var signs []uint64
	for owner := range state.Plan().Owners() {
		for _, t := range state.Tables(owner) {
			for sign := range t.All() {
				signs = append(signs, sign)
				groups[sign>>56] = true
			}
		}
	}
	inOrder := slices.Sorted(maps.Keys(groups))
	for _, sign := range signs {
		all = append(all, idIn{slices.Index(inOrder, sign>>56), sign << 8 >> 8})
	}
	slices.SortFunc(all, compareIDs)
	return all
}

// agingJobs are jobs whose rows age.
func agingJobs(mode string, ranks, servers int) (jobs []job.Job) {
	for _, k := range [][2]int{{3, 0}, {2, 2}, {0, 3}, {5, 3}} {
		j := cutJob(mode, ranks, servers)
		j.Rows.Admission, j.Rows.Expiry, j.Rows.AdmissionCount = 0, k[0], k[1]
		jobs = append(jobs, j)
	}
	return jobs
}

func trainAging(t *testing.T, j job.Job, o train.Options) *train.Result {
	t.Helper()
	data := agingData()
	result, err := train.Run(t.Context(), j, data, data.All, o)
	if err != nil {
		t.Fatalf("%s, expiry %d, count %d: %v", j.Training.Mode, j.Rows.Expiry, j.Rows.AdmissionCount, err)
	}
	return result
}

// Rows that age are those that follow from the ids, in sequential training and in sync with any number of
// ranks and PSs, which end with the same bits, and have forgotten as many rows and refused as many gradients.
func TestRowsThatAgeFollowFromTheIDs(t *testing.T) {
	for i, sequential := range agingJobs(job.Sequential, 1, 1) {
		want := living(agingData(), sequential.Rows.Expiry, sequential.Rows.AdmissionCount)
		var first *train.Result
		for _, roles := range [][2]int{{0, 0}, {1, 1}, {2, 3}, {4, 2}} {
			j := sequential
			if roles[0] > 0 {
				j = agingJobs(job.Sync, roles[0], roles[1])[i]
			}
			var got []idIn
			result := trainAging(t, j, train.Options{Trained: func(state exec.State) error {
				got = rowsOf(state)
				return nil
			}})
			if !slices.Equal(got, want) {
				t.Errorf("%s of %v, expiry %d, count %d: %d rows, and the ids say %d", j.Training.Mode, roles,
					j.Rows.Expiry, j.Rows.AdmissionCount, len(got), len(want))
			}
			if first == nil {
				first = result
			}
			if result.RowsDigest != first.RowsDigest || result.DenseDigest != first.DenseDigest ||
				result.ExpiredRows != first.ExpiredRows {
				t.Errorf("%s of %v has other bits than sequential, or %d rows expired in place of %d",
					j.Training.Mode, roles, result.ExpiredRows, first.ExpiredRows)
			}
		}
		if (first.ExpiredRows > 0) != (sequential.Rows.Expiry > 0) {
			t.Errorf("expiry %d: %d rows have expired", sequential.Rows.Expiry, first.ExpiredRows)
		}
	}
}

// A training whose rows age goes on from any step with the bits of the whole run, where its checkpoints have
// all rows or changes, also with other numbers of ranks and PSs.
func TestRowsThatAgeContinueFromEveryStep(t *testing.T) {
	for i, first := range append(agingJobs(job.Sequential, 4, 2), agingJobs(job.Sync, 4, 2)...) {
		whole := trainAging(t, first, train.Options{})
		folder := t.TempDir()
		cuts := []int{5, 6, 12, 17}
		s := checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 3}}
		save := func(step int, state exec.State) error {
			if !slices.Contains(cuts, step) {
				return nil
			}
			return s.Save(checkpoint.StepFolder(folder, step), cutManifest(first), state)
		}
		saved := trainAging(t, first, train.Options{SaveEvery: 1, Save: save})
		if err := s.Wait(); err != nil {
			t.Fatal(err)
		}
		if saved.RowsDigest != whole.RowsDigest {
			t.Errorf("%s: saving has changed the rows", first.Training.Mode)
		}
		second := first
		if first.Training.Mode == job.Sync {
			second = agingJobs(job.Sync, 2, 3)[i%4]
		}
		if testing.Short() {
			cuts = cuts[i%4 : i%4+1]
		}
		for _, cut := range cuts {
			model := mustOpen(t, checkpoint.StepFolder(folder, cut))
			if err := model.Verify(); err != nil || model.Version != checkpoint.VersionAges {
				t.Errorf("version %d: %v", model.Version, err)
			}
			rest := trainAging(t, second, train.Options{Begin: train.Begin{Step: cut, Model: model}})
			if rest.RowsDigest != whole.RowsDigest || rest.DenseDigest != whole.DenseDigest ||
				rest.ExpiredRows != whole.ExpiredRows || rest.Rows != whole.Rows {
				t.Errorf("%s, expiry %d, count %d, cut after %d steps: other bits than without a cut",
					first.Training.Mode, first.Rows.Expiry, first.Rows.AdmissionCount, cut)
			}
		}
	}
}

// Every mode trains with rows that age within its bounds, rows expire in it, and ids wait.
func TestEveryModeLetsRowsAge(t *testing.T) {
	for _, mode := range job.Modes() {
		for _, j := range agingJobs(mode, 2, 2) {
			result := trainAging(t, j, train.Options{})
			if (result.ExpiredRows > 0) != (j.Rows.Expiry > 0) || result.EvictedRows > 0 ||
				(result.Waiting > 0) != (j.Rows.AdmissionCount > 1) {
				t.Errorf("%s, expiry %d, count %d: %d rows have expired, %d ids wait", mode, j.Rows.Expiry,
					j.Rows.AdmissionCount, result.ExpiredRows, result.Waiting)
			}
		}
	}
}

// A PS that no step asks for a while makes up for what should have expired there, also in a training that
// goes on: what it has made up for is saved.
func TestPSsThatAreNotAskedMakeUpForIt(t *testing.T) {
	j := cutJob(job.Hybrid, 1, 7)
	j.Rows.Admission, j.Rows.Expiry, j.Training.GlobalBatch, j.Training.Staleness = 0, 4, 2, new(0)
	run := func(o train.Options) *train.Result {
		data := agingData()
		data.Size = 2
		o.End = 60
		result, err := train.Run(t.Context(), j, data, data.All, o)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	folder := t.TempDir()
	whole := run(train.Options{SaveEvery: 1, Save: func(step int, state exec.State) error {
		if step%7 == 6 {
			return saver(checkpoint.StepFolder(folder, step), j)(state)
		}
		return nil
	}})
	for step := 6; step < 60; step += 7 {
		model := mustOpen(t, checkpoint.StepFolder(folder, step))
		rest := run(train.Options{Begin: train.Begin{Step: step, Model: model}})
		if rest.RowsDigest != whole.RowsDigest || rest.ExpiredRows != whole.ExpiredRows {
			t.Errorf("from step %d on, %d rows have expired, and without the cut %d", step, rest.ExpiredRows,
				whole.ExpiredRows)
		}
	}
}

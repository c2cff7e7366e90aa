package cost

import (
	"errors"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
)

// inGroups returns onGPUs with its three slots of one, two and three ids a sample in a group each. Of 100
// samples, they have 50, 150 and 200 distinct rows.
func inGroups(ranks int) (job.Job, *model.Layout, Workload) {
	j, layout, w := onGPUs(ranks)
	for i, slot := range []string{"user", "item", "tags"} {
		rows, share := []float64{500, 1500, 3000}[i], []float64{0.5, 1.5, 2}[i]
		w.Groups = append(w.Groups, GroupRows{Slots: []string{slot}, Occurrences: float64(i + 1),
			Named: float64(i + 1), Rows: rows, Created: rows, Width: j.Model.Dim(),
			Distinct: func(samples int) float64 { return math.Min(rows, share*float64(samples)) }})
	}
	return j, layout, w
}

// leaving returns a job with its rows of a slot on PSs.
func leaving(j job.Job, slot string) job.Job {
	j.Data.Slots = []job.SlotSetting{{Slot: slot, Placement: job.RowsOnPSs}}
	return j
}

// With tags on PSs, an EW gets 600 ids of 100 samples, resolves the 300 of tags, and sends a rank 1600 pooled
// values and the 300 ids of user and item. Two PSs have 100 of the 200 distinct rows of tags each.
func TestSizesOfABatchWithRowsBySlot(t *testing.T) {
	j, layout, w := inGroups(4)
	j = leaving(j, "tags")
	s := newBatchSize(&j, &w, layout, 100, j.ShardPlan(), 2)
	if s.IDBytes != 8*600 || s.resolvedBytes != 8*300 || s.rowOccurrences != 300 || s.DistinctRows != 200 ||
		s.RowsPerPS != 100 || s.Routed.Rows[1] != 100 || s.Routed.SignBytes[0] != 800 ||
		s.Routed.ValueBytes[0] != 100*16*4 || s.EmbeddingBytes != 4*1600+8*300 || s.GradientBytes != 4*1600 ||
		s.NewRows != 3000./1000/200 || s.onGPU != (gpuBatch{300, 200, 2000. / 1000 / 200}) {
		t.Errorf("%+v", s)
	}
	w.Groups[2].Winners = 16 // a maximum of each value
	if s := newBatchSize(&j, &w, layout, 100, j.ShardPlan(), 2); s.EmbeddingBytes != 5*1600+8*300 ||
		s.GradientBytes != 5*1600 {
		t.Errorf("maxima: %+v", s)
	}
	w.Groups[2].Weights = 3
	if s := newBatchSize(&j, &w, layout, 100, j.ShardPlan(), 2); s.resolvedBytes != 12*300 {
		t.Errorf("weights: %+v", s)
	}
	w.Groups[2].Weights, w.Groups[2].Winners = 0, 0
	w.PackedOf = func(slots []string) *PackedSizes {
		each := map[string]float64{"tags": 2, "user,item": 3}[strings.Join(slots, ",")]
		return &PackedSizes{IDs: func(samples int) float64 { return each * float64(samples) },
			Signs: func(samples int, plan shard.Plan) float64 { return 10 * each }}
	}
	w.Packed, j.Wire.Index = &PackedSizes{IDs: func(samples int) float64 { return 4 * float64(samples) }},
		job.IndexCompressed
	j.Wire.Precision = compress.FP16
	if s := newBatchSize(&j, &w, layout, 100, j.ShardPlan(), 2); s.IDBytes != 400 || s.resolvedBytes != 200 ||
		s.EmbeddingBytes != 2*1600+300 || s.GradientBytes != 2*1600 || s.Routed.SignBytes[0] != 20 {
		t.Errorf("compressed: %+v", s)
	}
}

// The EW does the work of a job that has tags alone, and moves 1600 pooled values to their places, and as
// many gradients back. On the accelerator are the kernels of a job that has user and item alone, and one for
// each group of a rank behind it that does the same for the pass, before and after.
func TestPricesOfRowsBySlotAreThoseOfTheirSlots(t *testing.T) {
	for _, ranks := range []int{1, 4} {
		j, layout, w := inGroups(ranks)
		w.Groups[2].Rows = 3e8 // beyond the caches of PS hosts
		mixed := pricesOnGPUs(t, leaving(j, "tags"), layout, w)
		both, part := mixed.Batch(100), *layout
		part.EmbeddingWidth = 32
		gpu := pricesOnGPUs(t, j, &part, *w.Part(w.Groups[:2])).Batch(100).Rows
		onPSs := j
		onPSs.Rows.Placement = ""
		part.EmbeddingWidth = 16
		tags := pricesOnGPUs(t, onPSs, &part, *w.Part(w.Groups[2:]))
		ps := tags.Batch(100)
		moved := memoryCost(mixed.EWHost, 4*1600)
		merge, want := mixed.Merge(100, 200), tags.Merge(100, 200)
		if both.Split != ps.Split || both.Pool != ps.Pool.Add(moved) || merge.Core != want.Core ||
			merge.Memory-want.Memory-moved.Memory > 2 || merge.Memory <= want.Memory || ps.Split.Core == 0 {
			t.Errorf("%d ranks: EWs split for %v, pool for %v, merge for %v; of tags alone %v, %v, %v", ranks,
				both.Split, both.Pool, merge, ps.Split, ps.Pool, want)
		}
		if mixed.ReadRows(100, 100) != tags.ReadRows(100, 100) ||
			mixed.Apply(100, 100) != tags.Apply(100, 100) ||
			mixed.CreateRows(100, 100) != tags.CreateRows(100, 100) || tags.CreateRows(100, 100).Core == 0 {
			t.Errorf("%d ranks: PSs work on tags as %v and %v, alone %v and %v", ranks,
				mixed.ReadRows(100, 100), mixed.Apply(100, 100), tags.ReadRows(100, 100),
				tags.Apply(100, 100))
		}
		rows := both.Rows
		columns := mixed.Devices[0].TimeOf(mixed.columns(100)...)
		groups, pool, poolAlone := 8/ranks, rows.Pool, gpu.Pool
		if ranks == 1 {
			pool, poolAlone = rows.Find, gpu.Find
		}
		if pool.Launches != poolAlone.Launches+groups || pool.Kernels != poolAlone.Kernels+columns ||
			rows.Columns.Launches != groups || rows.Columns.Kernels != columns || columns == 0 ||
			gpu.Columns.Launches != 0 || rows.Sum != gpu.Sum || rows.Update != gpu.Update ||
			rows.Answer != gpu.Answer || rows.Signs != gpu.Signs || rows.Values != gpu.Values ||
			rows.Staged != gpu.Staged {
			t.Errorf("%d ranks: %+v, want %+v with %v for columns of %d groups", ranks, rows, gpu, columns,
				groups)
		}
	}
}

// Cores of a host hash many ids of a slot on GPUs side by side, and none of a slot on PSs: of one group of a
// rank, two slots.
func TestHostsHashIDsOfSlotsOnGPUs(t *testing.T) {
	j, layout, w := inGroups(1)
	j.Training.Groups = 1
	p := pricesOnGPUs(t, leaving(j, "tags"), layout, w)
	one := float64(p.System.NNWorker.SignTime.Mid) * 100_000 / p.ServerHost.CoreSpeed
	if got := float64(p.hashTime(100_000)); math.Abs(got-one/2) > 1 {
		t.Errorf("%v ns, want %v", got, one/2)
	}
}

// GPUs and PS hosts have the memory of the rows of their slots: 3000 of 220 bytes, as rows on PSs alone, and
// 10,000 with room for 1600 pooled values and their places.
func TestMemoryOfRowsBySlot(t *testing.T) {
	j, layout, w := inGroups(1)
	r := h100s(t).Resolve()
	onPSs, own := j, *w.Part(w.Groups[2:])
	onPSs.Rows.Placement = ""
	tags := MemoryUse(r, &onPSs, layout, &own)
	others := *w.Part(w.Groups[:2])
	gpu := MemoryUse(r, &j, layout, &others)
	j = leaving(j, "tags")
	m := MemoryUse(r, &j, layout, &w)
	if m.PS != tags.PS || m.Row != tags.Row || m.PS == 0 || m.GPURows != gpu.GPURows ||
		m.GPU != gpu.GPU+4*16*101 || m.GPUHas != gpu.GPUHas {
		t.Errorf("%+v, want PSs as in %+v and GPUs as in %+v", m, tags, gpu)
	}
	for capacity, fits := range map[int]bool{2000: true, 1999: false} {
		if j.Rows.Capacity = capacity; (CheckMemory(r, &j, layout, &w) == nil) != fits {
			t.Errorf("room for %d rows: %v", capacity, CheckMemory(r, &j, layout, &w))
		}
	}
	j.Rows.Capacity, w.Groups[2].Rows = 2000, 1e12
	if err := CheckMemory(r, &j, layout, &w); !errors.Is(err, ErrMemory) || errors.Is(err, ErrGPUMemory) ||
		!strings.Contains(err.Error(), "add PS hosts") {
		t.Errorf("error %v", err)
	}
}

// Where more rows are allowed than fit, an error says how many would fit and, if the data have more, that
// this is not enough.
func TestWhatIsNeededWhereRowsDoNotFit(t *testing.T) {
	j, layout, w := inGroups(2)
	j.Rows.Capacity = 1_000_000_000
	r := h100s(t).Resolve()
	fits := RowsPerGPU(r, &j, layout, &w)
	for rows, more := range map[float64]bool{2 * float64(fits): false, 2*float64(fits) + 1: true} {
		w.Created = rows
		err := CheckMemory(r, &j, layout, &w)
		if err == nil {
			t.Fatal("no error")
		}
		const needed = "with that capacity, also take more GPUs (roles.ranks), or leave slots to PSs"
		if strings.Contains(err.Error(), needed) != more || fits < 1e8 {
			t.Errorf("%.0f rows, room for %d each: %v", rows, fits, err)
		}
	}
	j.Rows.Capacity = 10
	if got := RowsPerGPU(r, &j, layout, &w); got != 10 {
		t.Errorf("room for %d rows where 10 are allowed", got)
	}
}

// The feature groups of a workload are in range, have each slot once, and have together what the workload
// has.
func TestGroupsAreCheckedBesideTheirWorkload(t *testing.T) {
	_, _, w := inGroups(1)
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, wrong := range map[string]func(g []GroupRows){
		"a feature group without slots":         func(g []GroupRows) { g[0].Slots = nil },
		"slot item is in two feature groups":    func(g []GroupRows) { g[0].Slots[0] = "item" },
		"have 4 slots together, and":            func(g []GroupRows) { g[1].Slots = []string{"item", "b"} },
		"slots tags have -1 ids a sample":       func(g []GroupRows) { g[2].Occurrences = -1 },
		"user have 1 ids a sample, 2 with":      func(g []GroupRows) { g[0].Weights = 2 },
		"which name NaN rows":                   func(g []GroupRows) { g[0].Named = math.NaN() },
		"item have -1 rows, 1500 of":            func(g []GroupRows) { g[1].Rows = -1 },
		"item have 1500 rows, -1 of":            func(g []GroupRows) { g[1].Created = -1 },
		"and a function of distinct rows":       func(g []GroupRows) { g[1].Distinct = nil },
		"have 16 pooled values a sample, 17 of": func(g []GroupRows) { g[2].Winners = 17 },
		"have 7 ids a sample":                   func(g []GroupRows) { g[2].Occurrences, g[2].Named = 4, 4 },
		"have 0.5 weights a sample together":    func(g []GroupRows) { g[2].Weights = 0.5 },
		"have 7 named rows a sample together":   func(g []GroupRows) { g[2].Named = 4 },
		"have 5001 rows together":               func(g []GroupRows) { g[2].Rows++ },
		"have 4999 created rows together":       func(g []GroupRows) { g[2].Created-- },
		"have 16 maxima a sample together":      func(g []GroupRows) { g[2].Winners = 16 },
	} {
		_, _, w := inGroups(1)
		wrong(w.Groups)
		if err := w.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	w.Groups = w.Groups[:2]
	if err := w.Validate(); err == nil || !strings.Contains(err.Error(), "have 2 slots together, and the "+
		"workload 3") {
		t.Errorf("without a group: %v", err)
	}
}

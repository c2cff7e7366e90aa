package frequent_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/shard"
)

// counted is the plain form: a map of the samples of each row. Rows of raw slots are left out.
func counted(schema *batch.Schema, b *batch.Batch) map[uint64]int {
	counts, raw := map[uint64]int{}, map[uint64]bool{}
	for sample := range b.Samples {
		seen := map[uint64]bool{}
		for s, slot := range b.Slots {
			for _, id := range slot.SampleIDs(sample) {
				for round := range schema.Slots[s].RowsPerID() {
					sign := schema.Signer(s).Sign(id, round)
					seen[sign], raw[sign] = true, raw[sign] || schema.Slots[s].Pooling == batch.Raw
				}
			}
		}
		for sign := range seen { // order-free: counts
			counts[sign]++
		}
	}
	maps.DeleteFunc(counts, func(sign uint64, _ int) bool { return raw[sign] })
	return counts
}

// The hot rows of a job are those that at least its share of the samples contain, the most frequent if these
// are too many. Rows of raw slots are not among them.
func TestHotRowsAreTheMostFrequent(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	counts := counted(source.Schema(), source.All)
	all := make([]uint64, 0, len(counts))
	for sign := range counts { // order-free: sorted
		all = append(all, sign)
	}
	slices.SortFunc(all, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, hot := range []job.Hot{{Share: 1e-9}, {Share: 0.05}, {Share: 0.05, Most: 3}, {Share: 1}} {
		training := exectest.Job(2, 1)
		training.Rows.Hot = hot
		if err := frequent.Choose(&training, source, 0); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(all)
		want = slices.DeleteFunc(want, func(sign uint64) bool {
			return float64(counts[sign]) < hot.Share*float64(source.All.Samples)
		})
		if hot.Most > 0 {
			want = want[:hot.Most]
		}
		slices.Sort(want)
		if got := training.Rows.Hot.Rows().Signs(); !slices.Equal(got, want) {
			t.Errorf("%+v: %d hot rows, want %d", hot, len(got), len(want))
		}
	}
}

// What is chosen without a share: the most frequent rows that add at most a tenth to the values that a rank
// exchanges with EWs, and none where no read is stale. A batch of 16 samples on 2 ranks has 8 on each. All
// slots of the data have width w, so a rank exchanges 2·8·w values, and a row has dim + 1. On an fp16 wire,
// the values that it exchanges take half of the bytes.
func TestHotRowsAreChosenByTheirCost(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	for _, c := range []struct {
		mode string
		tau  int
		wire compress.Form
		part int // of the largest number of rows; 0: none is hot
	}{
		{job.Hybrid, 15, compress.FP32, 1}, {job.Hybrid, 15, compress.FP16, 2},
		{job.Hybrid, 0, compress.FP32, 0}, {job.Sync, 15, compress.FP32, 0},
	} {
		training := exectest.Job(2, 1)
		training.Training.Prefetch = 0
		training = training.InMode(c.mode)
		training.Training.Staleness, training.Training.GlobalBatch = &c.tau, 16
		training.Rows.Hot.Auto, training.Wire.Precision = true, c.wire
		if err := training.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := frequent.Choose(&training, source, 0); err != nil {
			t.Fatal(err)
		}
		most := 0
		if c.part > 0 {
			most = 2 * 8 * source.Schema().EmbeddingWidth() / 10 / (training.Model.Dim() + 1) / c.part
		}
		if got := training.Rows.Hot.Rows().Len(); got != most {
			t.Errorf("%s, τ = %d, %v: %d hot rows, want %d", c.mode, c.tau, c.wire, got, most)
		}
	}
}

// On GPUs, those that are chosen without a share are the most frequent that fit, of the rows that each GPU
// would own. Of those chosen by a share all must fit.
func TestHotRowsFillTheGPUs(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	counts := counted(source.Schema(), source.All)
	for _, ranks := range []int{1, 2} {
		for _, room := range []int{3, 8, 100} {
			j := exectest.Job(ranks, 1)
			j.Model.Device.CUDA, j.Rows.Placement, j.Rows.Capacity = true, job.RowsOnGPU, room
			j.Rows.Hot.Auto = true
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if err := frequent.Choose(&j, source, 0); err != nil {
				t.Fatal(err)
			}
			hot, rows := j.Rows.Hot.Rows(), make([]int, ranks)
			owner, rarest := shard.Rows(ranks), make([]int, ranks)
			for _, sign := range hot.Signs() {
				rank := owner.Owner(sign)
				if rows[rank]++; rarest[rank] == 0 || counts[sign] < rarest[rank] {
					rarest[rank] = counts[sign]
				}
			}
			for sign, n := range counts { // order-free: each is checked
				rank := owner.Owner(sign)
				if _, isHot := hot.Place(sign); !isHot && (rows[rank] < room || n > rarest[rank]) {
					t.Errorf("%d GPUs with room for %d: one has %d, all of at least %d samples, and not a "+
						"row of %d", ranks, room, rows[rank], rarest[rank], n)
				}
			}
			if most := slices.Max(rows); most > room {
				t.Errorf("%d rows on a GPU with room for %d", most, room)
			}
			j.Rows.Hot = job.Hot{Share: 1e-9}
			err := frequent.Choose(&j, source, 0)
			if room == 100 && (err != nil || j.Rows.Hot.Rows().Len() != len(counts)) ||
				room < 100 && (err == nil || !strings.Contains(err.Error(), "set rows.hot.auto, which")) {
				t.Errorf("%d GPUs with room for %d, by a share: error %v", ranks, room, err)
			}
		}
	}
}

// Without a share, a row is hot if its gradients would miss a tenth of an update. In steps of 8 samples, with
// τ = 1, it is in 1/80 of the samples at least: not one that is in one sample of 100.
func TestHotRowsWouldBeLate(t *testing.T) {
	const slots, samples = 100, 100 // slots without ids make hot rows cheap
	b := &batch.Batch{Samples: samples, Slots: make([]batch.Jagged, slots)}
	source := &exectest.Columns{All: b, Size: 8, Fields: batch.Schema{PrefixBits: 8}}
	for s := range b.Slots {
		b.Slots[s].Offsets = make([]int32, samples+1)
		source.Fields.Slots = append(source.Fields.Slots, batch.Slot{Name: fmt.Sprint(s), Dim: 1})
	}
	for i := range samples { // 20 ids of three samples, and 40 ids of one
		id := i % 20
		if i >= 60 {
			id = i
		}
		b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(id))
		b.Slots[0].Offsets[i+1] = int32(i + 1)
	}
	training, tau := exectest.Job(1, 1), 1
	training.Training.Prefetch, training.Model.Spec.EmbeddingDim = 0, 1
	training = training.InMode(job.Hybrid)
	training.Training.Staleness, training.Training.GlobalBatch, training.Rows.Hot.Auto = &tau, 8, true
	if err := frequent.Choose(&training, source, 0); err != nil {
		t.Fatal(err)
	}
	if got := training.Rows.Hot.Rows().Len(); got != 20 {
		t.Errorf("%d hot rows, want 20", got)
	}
}

// large is a source that claims to have half of frequent.SampleMost samples in every batch.
type large struct{ *exectest.Columns }

func (large) Samples(int) int { return frequent.SampleMost / 2 }

// Of much data, Choose counts steps that are spread evenly over the first epoch, or more of them if the job
// asks for them.
func TestStepsOfTheFirstEpochAreCounted(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	for samples, steps := range map[int][]int{0: {0, 3}, frequent.SampleMost * 3 / 2: {0, 2, 4}} { // of 6
		training := exectest.Job(2, 1)
		training.Training.Epochs, training.Rows.Hot = 2, job.Hot{Share: 1e-9, Samples: samples}
		if err := frequent.Choose(&training, large{source}, 0); err != nil {
			t.Fatal(err)
		}
		want := map[uint64]int{}
		for _, step := range steps {
			b, err := source.Read(step)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(want, counted(source.Schema(), b))
		}
		if got := training.Rows.Hot.Rows().Signs(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Errorf("%d samples: %d hot rows, want the %d of steps %d", samples, len(got), len(want), steps)
		}
	}
}

// On the way, no more samples are counted than a row of the least share needs to be found 100 times.
func TestFewSamplesAreCountedAgain(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	training := exectest.Job(2, 1)
	training.Rows.Hot = job.Hot{Share: 1e-9, Every: 6}
	for share, want := range map[float64]int{1e-9: frequent.SampleMost, 1e-3: 100_000, 0.3: 334, 1: 100} {
		training.Rows.Hot.Share = share
		if got := frequent.SamplesAgain(&training.Rows.Hot); got != want {
			t.Errorf("share %g: %d samples, want %d", share, got, want)
		}
	}
	if got := frequent.SamplesAgain(&job.Hot{Auto: true}); got != frequent.SampleMost {
		t.Errorf("no share: %d samples", got)
	}
	for _, step := range []int{0, 6} {
		training.Rows.Hot.Share = 1e-9 // steps of half of SampleMost: two of them
		if err := frequent.ChooseAgain(&training, large{source}, step); err != nil {
			t.Fatal(err)
		}
		want := map[uint64]int{}
		for _, read := range map[int][]int{0: {0, 6}, 6: {0, 3}}[step] {
			b, err := source.Read(read)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(want, counted(source.Schema(), b))
		}
		if got := training.Rows.Hot.Rows().Len(); got != len(want) {
			t.Errorf("step %d: %d hot rows, want %d", step, got, len(want))
		}
	}
}

// On the way, rows are counted in the steps since the choice before; until then, in the first epoch.
func TestRowsAreCountedAgain(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	training := exectest.Job(2, 1)
	training.Rows.Hot = job.Hot{Share: 1e-9, Every: 2} // two steps have some of the rows
	for step, of := range map[int][2]int{1: {0, 12}, 2: {0, 2}, 3: {0, 2}, 4: {2, 4}, 11: {8, 10}} {
		if err := frequent.ChooseAgain(&training, source, step); err != nil {
			t.Fatal(err)
		}
		want := map[uint64]int{}
		for read := of[0]; read < of[1]; read++ {
			b, err := source.Read(read)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(want, counted(source.Schema(), b))
		}
		got := training.Rows.Hot.Rows().Signs()
		if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Errorf("step %d: %d hot rows, want the %d of steps %d to %d", step, len(got), len(want), of[0],
				of[1])
		}
	}
}

// All rows of a slot that is named are hot, and of the others the most frequent. Those of the named slots do
// not count for the largest number. Slots of one group share their rows.
func TestSlotsAreWhollyHot(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	slot := source.Fields.Slots[0]
	for _, name := range []string{"alike", "other"} {
		slot.Name = name
		source.Fields.Slots = append(source.Fields.Slots, slot)
		source.All.Slots = append(source.All.Slots, source.All.Slots[0])
	}
	source.Fields.Slots[0].Group, source.Fields.Slots[2].Group = "group", "group"
	counts, schema := counted(source.Schema(), source.All), source.Schema()
	isNamed := func(sign uint64) bool {
		return sign>>(64-schema.PrefixBits) == schema.Signer(2).Prefix()>>(64-schema.PrefixBits)
	}
	for _, hot := range []job.Hot{{}, {Share: 0.05}, {Share: 0.05, Most: 3}, {Auto: true}} {
		training := exectest.Job(2, 1) // in sync, no row is hot by itself
		hot.Slots = []string{"alike"}
		training.Rows.Hot = hot
		if err := frequent.Choose(&training, source, 0); err != nil {
			t.Fatal(err)
		}
		named, others := 0, 0
		for sign, n := range counts { // order-free: counts
			switch {
			case isNamed(sign):
				named++
			case hot.Share > 0 && float64(n) >= hot.Share*float64(source.All.Samples):
				others++
			}
		}
		if hot.Most > 0 {
			others = min(others, hot.Most)
		}
		gotNamed := 0
		for _, sign := range training.Rows.Hot.Rows().Signs() {
			if isNamed(sign) {
				gotNamed++
			}
		}
		got := training.Rows.Hot.Rows().Len() - gotNamed
		if gotNamed != named || got != others || named == 0 {
			t.Errorf("%+v: %d rows of the slot and %d others, want %d and %d", hot, gotNamed, got, named,
				others)
		}
	}
}

// A slot that the data do not have, and one whose rows the network gets one by one, are refused with the
// names that may be given.
func TestSlotsThatCannotBeHot(t *testing.T) {
	source := exectest.NewColumns(16, 16)
	source.Fields.Slots = append(source.Fields.Slots, batch.Slot{Name: "likes", Dim: 3, Weighted: true})
	source.All.Slots = append(source.All.Slots, source.All.Slots[0])
	const not = ", or one of its group, is raw, takes a maximum or has weights, and ranks pool"
	for name, want := range map[string]string{
		"tag":     "rows.hot.slots: the data have no slot tag; choose among tags",
		"history": "rows.hot.slots: slot history" + not, "likes": "rows.hot.slots: slot likes" + not,
	} {
		training := exectest.Job(2, 1)
		training.Rows.Hot.Slots = []string{name}
		err := frequent.Choose(&training, source, 0)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "tags") {
			t.Errorf("%s: error %v, want %s …", name, err, want)
		}
	}
}

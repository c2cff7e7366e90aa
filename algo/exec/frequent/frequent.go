package frequent

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// Rows returns the signs of the rows that at least a share of the samples of some steps of a source contain,
// the most frequent first. It reads each of the steps once. A row that several ids of a sample name counts
// once for the sample.
func Rows(source batch.Source, steps []int, leastShare float64) (signs []uint64, err error) {
	c, err := count(source, steps)
	if err != nil {
		return nil, err
	}
	return c.atLeast(leastShare, func(uint64) bool { return true }), nil
}

// counted has the samples that contain each row.
type counted struct {
	samples int
	with    map[uint64]int // by sign
}

// count counts the samples of some steps of a source.
func count(source batch.Source, steps []int) (*counted, error) {
	schema, c := source.Schema(), &counted{with: map[uint64]int{}}
	for _, step := range steps {
		global, err := source.Read(step)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", step, err)
		}
		c.samples += global.Samples
		routed := route.Route(schema, batch.Cut(global, 1, 1)[0], shard.Rows(1))
		for i, n := range samplesWith(routed, schema, global) {
			c.with[routed.Signs[i]] += n
		}
	}
	return c, nil
}

// atLeast returns those rows in at least a share of the samples that are wanted, the most frequent first.
func (c *counted) atLeast(leastShare float64, wanted func(sign uint64) bool) (signs []uint64) {
	for sign, n := range c.with { // order-free: sorted below
		if float64(n)/float64(c.samples) >= leastShare && wanted(sign) {
			signs = append(signs, sign)
		}
	}
	slices.SortFunc(signs, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(c.with[b], c.with[a]), cmp.Compare(a, b))
	})
	return signs
}

// samplesWith returns, for each distinct sign of a batch, the number of samples that contain it.
func samplesWith(routed *route.Routed, schema *batch.Schema, b *batch.Batch) []int {
	counts, last := make([]int, len(routed.Signs)), make([]int, len(routed.Signs))
	for sample := range b.Samples {
		for s, slot := range b.Slots {
			rows := int32(schema.Slots[s].RowsPerID())
			for _, sign := range routed.Index[s][rows*slot.Offsets[sample] : rows*slot.Offsets[sample+1]] {
				if last[sign] != sample+1 {
					last[sign] = sample + 1
					counts[sign]++
				}
			}
		}
	}
	return counts
}

// SampleMost is the number of samples on which hot rows are counted, unless a job says how many
// (job.Hot.Samples): a row in one of a thousand is then counted to within 3 % (one standard deviation).
const SampleMost = 1_000_000

// SamplesAgain returns the largest number of samples on which hot rows are counted on the way, while training
// stands still: as many as contain a row of the least share 100 times, so that it is counted to within 10 %,
// and at most SampleMost.
func SamplesAgain(hot *job.Hot) int {
	if hot.Share <= 0 {
		return SampleMost
	}
	const times = 100
	return int(min(SampleMost, math.Ceil(times/hot.Share)))
}

// Choose finds the hot rows with which a job begins at a global step, unless the job has them already or asks
// for none: see ChooseAgain.
func Choose(t *job.Job, source batch.Source, step int) error {
	if t.Rows.Hot.Rows() != nil {
		return nil
	}
	return ChooseAgain(t, source, step)
}

// ChooseAgain sets the hot rows with which a job trains a global step, if it asks for hot rows. Those before
// the first multiple of job.Hot.Every are counted in the first epoch. Those from the multiple k·Every on, to
// the next one, are counted in the steps from (k−1)·Every to k·Every. Of both ChooseAgain reads steps that
// are spread evenly and have SampleMost samples, or SamplesAgain. Rows of raw slots are never hot: the
// network gets their embeddings one by one, from the PSs. ChooseAgain returns an error if job.Hot.Slots has
// the name of such a slot, or one that the data do not have.
//
// On GPUs (job.Job.HasTiers), automatic are the most frequent rows that fit, of each rank's share of the
// rows. If the job has a least share instead and one of the GPUs lacks room, that is an error: which rows are
// hot does not depend on the number of GPUs.
//
// The rows follow from the job, the data and the step alone. So every process that opens the same data
// chooses the same rows, and a training that continues at a step has the rows of one without a pause. Cost: a
// pass over the batches that are counted, and 16 bytes for each of their distinct ids.
func ChooseAgain(t *job.Job, source batch.Source, step int) error {
	hot := &t.Rows.Hot
	if !t.ChoosesHotRows() {
		return nil
	}
	schema, share, most := source.Schema(), hot.Share, hot.Most
	whole, raw, err := slotGroups(schema, hot.Slots, t.HasTiers())
	if err != nil {
		return fmt.Errorf("rows.hot.slots: %w", err)
	}
	switch {
	case hot.Auto && t.HasTiers(): // as many as there is room for
	case hot.Auto:
		var own int
		if share, own = automatic(t, schema); most == 0 || own < most {
			most = own
		}
		if most == 0 {
			share = allSamples + 1
		}
	case share == 0:
		share = allSamples + 1
	}
	if share > allSamples && len(whole) == 0 {
		hot.SetRows(shard.NewHot(nil))
		return nil
	}
	first, end := 0, max(source.Steps()/max(t.Training.Epochs, 1), 1)
	samples := cmp.Or(hot.Samples, SampleMost)
	if k := hot.Choice(step); k > 0 {
		first, end, samples = (k-1)*hot.Every, k*hot.Every, SamplesAgain(hot)
	}
	c, err := count(source, sampled(source, first, end, samples))
	if err != nil {
		return fmt.Errorf("rows.hot: counting the data: %w", err)
	}
	prefix := ^uint64(0) << (64 - schema.PrefixBits)
	signs := c.atLeast(share, func(sign uint64) bool { return !raw[sign&prefix] && !whole[sign&prefix] })
	if most > 0 && len(signs) > most {
		signs = signs[:most]
	}
	signs = append(c.atLeast(0, func(sign uint64) bool { return whole[sign&prefix] }), signs...)
	if t.HasTiers() {
		if signs, err = fitting(t, signs); err != nil {
			return err
		}
	}
	hot.SetRows(shard.NewHot(signs))
	return nil
}

// fitting returns those of some rows, the most wanted first, for which the GPU that will have them has room:
// where the job does not choose them by their number, all, or an error.
func fitting(t *job.Job, signs []uint64) (fit []uint64, err error) {
	owner, room := shard.Rows(t.Roles.Ranks), t.RowsConfig().Most()
	rows := make([]int, t.Roles.Ranks) // by rank
	for _, sign := range signs {
		rank := owner.Owner(sign)
		if rows[rank]++; rows[rank] <= room {
			fit = append(fit, sign)
		}
	}
	if most := slices.Max(rows); most > room && !t.Rows.Hot.Auto {
		return nil, fmt.Errorf("rows.hot: %d rows on %d GPUs, of which one would have %d and has room for "+
			"%d: raise rows.hot.share, rows.capacity or rows.memory, take more GPUs (roles.ranks), or set "+
			"rows.hot.auto, which chooses as many as fit", len(signs), t.Roles.Ranks, most, room)
	}
	return fit, nil
}

// slotGroups returns the prefixes of the groups of slots with some names, and those of groups with a raw
// slot, or another whose rows cannot be hot: on ranks or, with tiers, on GPUs beside others on PSs.
func slotGroups(schema *batch.Schema, names []string, tiers bool) (whole, raw map[uint64]bool, err error) {
	whole, raw = map[uint64]bool{}, map[uint64]bool{}
	canBeHot, others := batch.Slot.CanBeHot, ""
	if tiers {
		canBeHot, others = batch.Slot.AddsRows, ", or is scaled or has a hash-stack"
	}
	for s := range schema.Slots {
		if !canBeHot(schema.Slots[s]) {
			raw[schema.Signer(s).Prefix()] = true
		}
	}
	prefixes, pooled := map[string]uint64{}, []string{}
	for s := range schema.Slots {
		name, prefix := schema.Slots[s].Name, schema.Signer(s).Prefix()
		if prefixes[name] = prefix; !raw[prefix] {
			pooled = append(pooled, name)
		}
	}
	for _, name := range names {
		prefix, known := prefixes[name]
		choose := "choose among " + strings.Join(pooled, ", ")
		if len(pooled) == 0 {
			choose = "no slot of these data can be hot"
		}
		switch {
		case !known:
			return nil, nil, fmt.Errorf("the data have no slot %s; %s", name, choose)
		case raw[prefix]:
			return nil, nil, fmt.Errorf("slot %s, or one of its group, is raw, takes a maximum or has "+
				"weights%s, and ranks pool plain sums alone; %s", name, others, choose)
		}
		whole[prefix] = true
	}
	return whole, raw, nil
}

// allSamples is the share of all samples.
const allSamples = 1.0

const (
	// A row is hot by itself only if a gradient of it would miss this many updates otherwise.
	missedLeast = 0.1
	// The hot rows may take this share of the bytes that a rank exchanges with EWs in a step.
	exchangedShare = 0.1
)

// automatic returns the least share of the samples and the largest number of hot rows that suit a job.
//
// In a step, a rank exchanges two values for each of its pooled ones: one on the way to it, and a gradient on
// the way back, in the precision of the wire. Hot rows add one fp32 value for each of theirs, and their
// count, whether the batch has them or not. A row in a share f of the samples is in at most f · B of the
// gradients of a step with B samples, and its gradients miss τ steps.
func automatic(t *job.Job, schema *batch.Schema) (share float64, most int) {
	rule, err := t.Rule()
	if err != nil || rule.InStep() || t.Depth() < 2 {
		return allSamples + 1, 0 // no read is stale
	}
	values := 2 * schema.EmbeddingWidth() * t.Training.GlobalBatch / t.Roles.Ranks
	share = missedLeast / float64((t.Depth()-1)*t.Training.GlobalBatch)
	return share, int(exchangedShare * float64(t.Wire.Precision.Size(values)) / float64(4*(t.Model.Dim()+1)))
}

// sampled returns the steps that are counted of those from first to below end, which have at most a number of
// samples.
func sampled(source batch.Source, first, end, samples int) (steps []int) {
	all := end - first
	count := min(all, max(samples/max(source.Samples(first), 1), 1))
	for i := range count {
		steps = append(steps, first+i*all/count)
	}
	return steps
}

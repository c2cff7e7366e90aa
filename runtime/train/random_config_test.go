package train

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
)

var seed = flag.Int64("seed", -1, "the one random configuration to train; below 0: those from 0 on")

// Sync training equals sequential training bit for bit, in random configurations of network, optimizers,
// slots, their dimensions, labels, weights, roles, overlap and hot rows, which are chosen again after some
// steps, within the limits of this promise (fp32 on the wire, one PS if rows are evicted). Flag -long trains
// 2,000 configurations; flag -seed repeats one.
func TestSyncEqualsSequentialInRandomConfigurations(t *testing.T) {
	count := 100
	if *long {
		count = 2000
	}
	trained, ended, differences, promoted, demoted, unequal, expired, counted := 0, 0, 0, 0, 0, 0, 0, 0
	for n := max(*seed, 0); trained < count && ended <= count/20 && (*seed < 0 || n == *seed); n++ {
		c := newConfiguration(uint64(n))
		if err := c.training.Validate(); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		reference := c.training
		reference.Training.Mode, reference.Training.Overlap = job.Sequential, ""
		want, err := outcome(Run(t.Context(), reference, c.rows, c.rows.all, Options{}))
		result, failed := Run(t.Context(), c.training, c.rows, c.rows.all, Options{})
		if got, _ := outcome(result, failed); got != want {
			differences++
			t.Errorf("%v: sequential has %s, sync has %s", c, want, got)
		}
		if len(c.rows.schema.Dims().Lengths()) > 1 {
			unequal++
		}
		if failed == nil {
			for _, choice := range result.HotChoices {
				promoted, demoted = promoted+choice.Promoted, demoted+choice.Demoted
			}
			expired += result.ExpiredRows
			for _, rows := range c.training.RowSettings() {
				counted += rows.AdmissionCount / 2
			}
		}
		if trained++; err != nil { // numbers that are not finite end both
			trained--
			ended++
		}
		if *seed >= 0 {
			text, _ := yaml.Marshal(c.training)
			t.Logf("%+v\n%s", c.rows.schema, text)
		}
	}
	t.Logf("%d configurations trained, %d differences; %d more ended with an error in both; %d rows became "+
		"hot on the way, and %d cold; in %d, slots differ in dimension; %d rows have expired", trained,
		differences, ended, promoted, demoted, unequal, expired)
	if *seed < 0 && min(promoted, demoted, unequal, expired, counted) == 0 {
		t.Error("no row has become hot, or cold again, on the way, or has expired, or has waited for a " +
			"count of steps, or all slots have one dimension")
	}
	if ended > count/20 {
		t.Errorf("%d configurations could not be trained, beside %d that could", ended, trained)
	}
}

// outcome returns a text of all that sync and sequential training must have in common: every bit, or the
// error.
func outcome(r *Result, err error) (string, error) {
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "; first found in") // in the part of some rank
		return text[strings.LastIndex(text, ": ")+1:], err         // roles and steps are named before
	}
	return fmt.Sprintf("network %016x, %d rows %016x, log loss or RMSE %016x", r.DenseDigest, r.Rows,
		r.RowsDigest, math.Float64bits(r.Loss())), nil
}

// configuration is a job for sync training with data for it.
type configuration struct {
	seed     uint64
	training job.Job
	rows     *rows
}

// String returns the command that trains the configuration again.
func (c *configuration) String() string {
	return fmt.Sprintf("go test ./runtime/train -run RandomConfigurations -seed=%d", c.seed)
}

// chooser draws the properties of a configuration.
type chooser struct{ *rand.Rand }

// between returns a number from lo to hi.
func (c chooser) between(lo, hi int) int { return lo + c.IntN(hi-lo+1) }

// chance returns true one time in n.
func (c chooser) chance(n int) bool { return c.IntN(n) == 0 }

func oneOf[T any](c chooser, all ...T) T { return all[c.IntN(len(all))] }

// widths returns the widths of up to most hidden layers.
func (c chooser) widths(most int) []int {
	widths := make([]int, c.IntN(most+1))
	for i := range widths {
		widths[i] = c.between(1, 12)
	}
	return widths
}

// newConfiguration returns the configuration of a seed.
func newConfiguration(seed uint64) *configuration {
	c := chooser{rng.New(seed, "configuration")}
	t := job.Default()
	t.Training.Mode, t.Training.Seed = job.Sync, c.Uint64()
	t.Model.Spec = c.network()
	t.Model.Optimizer, t.Rows.Optimizer = c.denseOptimizer(), c.rowOptimizer()
	t.Model.Precision = oneOf(c, job.FP32, job.FP32, job.FP32, job.BF16)
	t.Rows.Init = oneOf(c, 0.01, 0.1, 0)
	t.Training.Groups = oneOf(c, 1, 2, 4, 8, 16)
	t.Roles.Ranks = oneOf(c, 1, 2, 4, 8)
	for t.Training.Groups%t.Roles.Ranks != 0 {
		t.Roles.Ranks /= 2
	}
	t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs = c.between(1, 4), c.between(1, 5)
	t.Training.GlobalBatch = c.between(t.Roles.Ranks, 48)
	t.Training.Overlap = oneOf(c, "", "none", "ids", "ids+ds")
	t.Training.Merge = oneOf(c, "", job.MergeStep, job.MergeRank)
	t.Training.Scale = oneOf(c, job.ScaleGlobal, job.ScaleRank)
	t.Training.StalenessWarmUp = oneOf(c, 0, 0, 5, 1000) // which sync does not use
	t.Wire.Index = oneOf(c, job.IndexRaw, job.IndexCompressed)
	t.Rows.Precision = oneOf(c, table.Precisions()...)
	t.Rows.Admission = oneOf(c, 0, 0, 1, 0.5, 0.1)
	switch c.IntN(3) {
	case 0:
		t.Training.Prefetch = c.between(1, 6)
	case 1:
		staleness := c.IntN(4) // which sync does not use
		t.Training.Staleness = &staleness
	}
	if c.chance(5) {
		t.Roles.EmbeddingPSs, t.Rows.Eviction, t.Rows.Capacity = 1, job.SecondChance, c.between(40, 200)
	}
	// Which rows a full PS evicts depends on those that it holds, and ranks hold hot rows.
	if hot := (chooser{rng.New(seed, "hot rows")}); t.Rows.Eviction != job.SecondChance && hot.chance(2) {
		t.Rows.Hot = job.Hot{Share: oneOf(hot, 0.5, 0.1, 0.02, 1e-9), Most: oneOf(hot, 0, 0, 1, 10)}
		t.Rows.Hot.Every = oneOf(hot, 0, 1, 1, 2, 3)
		t.Training.Merge = ""
	}
	// the last batch may be short
	samples := c.between(0, 7)*t.Training.GlobalBatch + c.between(1, t.Training.GlobalBatch)
	rows := c.data(&t, max(samples, 2))
	if hot := (chooser{rng.New(seed, "hot slots")}); t.Rows.Hot.Any() && hot.chance(3) {
		t.Rows.Hot.Slots, t.Rows.Hot.Share = hot.pooledSlots(&rows.schema), oneOf(hot, 0.1, 0.5)
		t.Rows.Hot.Most = oneOf(hot, 0, 5)
	}
	(chooser{rng.New(seed, "dims")}).dims(&t, rows)
	(chooser{rng.New(seed, "ages")}).ages(&t, rows)
	labels := chooser{rng.New(seed, "labels")}
	labels.labels(rows)
	if labels.chance(3) {
		labels.numbers(&t, rows)
	}
	return &configuration{seed, t, rows}
}

// settings gives some slots optimizers, initial values and precisions of their own, if the job can have such.
func (c chooser) settings(t *job.Job, r *rows) {
	if t.Rows.Hot.Any() {
		return
	}
	t.Data.Slots = nil
	for _, slot := range r.schema.Slots {
		if slot.Group != "" || c.chance(2) {
			continue
		}
		own := job.SlotSetting{Slot: slot.Name, Dim: slot.Dim,
			Precision: oneOf(c, "", "fp32", "bf16", "fp16")}
		if c.chance(2) {
			own.Init = new(oneOf(c, 0, 0.1))
		}
		if !c.chance(3) {
			own.Optimizer = new(t.Rows.Optimizer)
			own.Optimizer.Kind = oneOf(c, opt.SGD, opt.Adagrad, opt.RowwiseAdagrad, opt.Adam, opt.FTRL)
			own.Optimizer.Rate = oneOf(c, 0.01, 0.05)
			own.Optimizer.Schedule = opt.Schedule{}
		}
		t.Data.Slots = append(t.Data.Slots, own)
	}
	classesOf(t, r)
}

// classesOf gives the slots of some data the classes of their settings.
func classesOf(t *job.Job, r *rows) {
	for _, own := range t.SlotRows() {
		for i := range r.schema.Slots {
			if r.schema.Slots[i].Name == own.Name {
				r.schema.Slots[i].Class = own.Class
			}
		}
	}
}

// dims gives the slots of some data dimensions that may differ, if the job can have such.
func (c chooser) dims(t *job.Job, r *rows) {
	if !t.Model.AnyDims() || t.Rows.Hot.Any() {
		return
	}
	shared := c.between(4, 128)
	for i := range r.schema.Slots {
		slot := &r.schema.Slots[i]
		if slot.Dim = shared; slot.Group == "" {
			slot.Dim = oneOf(c, 4, 7, 16, 32, 128, shared)
		}
	}
}

// ages makes rows expire, or ids wait for theirs, if the job can have that, in some slots otherwise than in
// others.
func (c chooser) ages(t *job.Job, r *rows) {
	if t.Rows.Hot.Any() {
		return
	}
	expiries, counts := []int{0}, []int{0}
	if t.Rows.Eviction != job.SecondChance {
		expiries = []int{0, 1, 2, 3}
	}
	if t.Rows.Admission == 0 || t.Rows.Admission == 1 {
		counts = []int{0, 2, 3}
	}
	t.Rows.Expiry, t.Rows.AdmissionCount = oneOf(c, expiries...), oneOf(c, counts...)
	if c.chance(2) || !t.Model.AnyDims() {
		return
	}
	for _, slot := range r.schema.Slots {
		if slot.Group == "" && c.chance(2) {
			t.Data.Slots = append(t.Data.Slots, job.SlotSetting{Slot: slot.Name, Dim: slot.Dim,
				Expiry: new(oneOf(c, expiries...)), AdmissionCount: new(oneOf(c, counts...))})
		}
	}
	classesOf(t, r)
}

// labels makes shares of the labels of some data, and gives samples weights, of which some are 0.
func (c chooser) labels(r *rows) {
	shares, weighted := c.chance(3), c.chance(3)
	for i := range r.all.Labels {
		if shares && i >= 2*len(r.schema.Labels) { // the first two are of both classes
			r.all.Labels[i] = oneOf(c, 0, 1, c.Float32())
		}
	}
	if !weighted {
		return
	}
	r.schema.Weight = "weight"
	for i := range r.all.Samples {
		weight := oneOf(c, 0, 1, 3*c.Float32())
		if i < 2 {
			weight = 1
		}
		r.all.Weights = append(r.all.Weights, weight)
	}
}

// numbers makes the labels numbers, and the loss squared.
func (c chooser) numbers(t *job.Job, r *rows) {
	t.Model.Loss = model.SquaredLoss
	center, scale := oneOf(c, 0, 7.5), oneOf(c, 1, 0.5, 30)
	for i := range t.Model.Heads {
		t.Model.Heads[i].Center, t.Model.Heads[i].Scale = center, scale
	}
	for i := range r.all.Labels {
		r.all.Labels[i] = float32(center + scale*c.NormFloat64())
	}
}

// pooledSlots returns the names of up to two slots of whose group all form sums.
func (c chooser) pooledSlots(schema *batch.Schema) (names []string) {
	raw := map[uint64]bool{}
	for s, slot := range schema.Slots {
		if !slot.CanBeHot() {
			raw[schema.Signer(s).Prefix()] = true
		}
	}
	for s, slot := range schema.Slots {
		if !raw[schema.Signer(s).Prefix()] && len(names) < 2 && !c.chance(3) {
			names = append(names, slot.Name)
		}
	}
	return names
}

// network returns a random network.
func (c chooser) network() model.Spec {
	s := model.Default()
	s.Kind = oneOf(c, model.Kinds()...)
	s.EmbeddingDim, s.Factors = c.between(1, 9), c.between(1, 6)
	s.Bottom, s.Top = c.widths(2), c.widths(3)
	s.CrossLayers, s.Structure, s.Rank = c.between(1, 3), oneOf(c, model.Stacked, model.Parallel), c.IntN(4)
	s.Activation, s.BatchNorm = oneOf(c, model.ReLU, model.NoActivation), c.chance(2)
	for _, tower := range []**model.Tower{&s.SparseTower, &s.DenseTower} {
		if c.chance(3) {
			*tower = &model.Tower{Layers: c.widths(2), BatchNorm: c.chance(2)}
		}
	}
	if s.Kind == model.FactorizationMachine || s.Kind == model.DeepFM || c.chance(2) {
		return s
	}
	for range c.between(1, 3) {
		head := model.Head{Weight: oneOf(c, 0, 1, 0.3)}
		if s.Kind != model.LogisticRegression {
			head.Layers = c.widths(1)
		}
		s.Heads = append(s.Heads, head)
	}
	return s
}

// schedule returns any schedule of a learning rate.
func (c chooser) schedule() opt.Schedule {
	s := opt.Schedule{Decay: oneOf(c, opt.NoDecay, opt.NoDecay, opt.LinearDecay, opt.InverseSqrtDecay,
		opt.StepDecay)}
	s.WarmUp = c.IntN(3)
	s.Steps, s.Factor = s.WarmUp+c.between(1, 6), 0.7
	return s
}

func (c chooser) denseOptimizer() opt.DenseSpec {
	s := opt.DefaultDense()
	s.Kind = oneOf(c, opt.SGD, opt.Adagrad, opt.Adam)
	s.Rate, s.Order = oneOf(c, 0.001, 0.05), oneOf(c, opt.After, opt.Before)
	s.InitialAccumulator, s.ClipNorm = oneOf(c, 0, 0.1), oneOf(c, 0, 0, 0.5)
	s.Schedule = c.schedule()
	return s
}

func (c chooser) rowOptimizer() opt.RowSpec {
	s := opt.DefaultRow()
	s.Kind = oneOf(c, opt.SGD, opt.Adagrad, opt.RowwiseAdagrad, opt.Adam, opt.FTRL)
	s.Rate, s.Order = oneOf(c, 0.01, 0.1), oneOf(c, opt.After, opt.Before)
	s.L1, s.L2, s.WeightBound = oneOf(c, 0, 0.01), oneOf(c, 0, 0.1), oneOf(c, 10, 0, 0.05)
	if s.Kind != opt.FTRL {
		s.Schedule = c.schedule()
	}
	return s
}

// data returns samples for a training: slots with one id, some or none, pooled or raw, in groups or by
// themselves, of few distinct ids or many.
func (c chooser) data(t *job.Job, samples int) *rows {
	r := &rows{size: t.Training.GlobalBatch, schema: batch.Schema{PrefixBits: oneOf(c, 8, 3, 16)}}
	for i := range t.Model.Labels() {
		r.schema.Labels = append(r.schema.Labels, fmt.Sprint("label", i))
	}
	least := 0 // numeric features
	if t.Model.Kind == model.DLRM || t.Model.DenseTower != nil {
		least = 1
	}
	for i := range c.between(least, 3) {
		r.schema.Dense = append(r.schema.Dense, fmt.Sprint("dense", i))
	}
	raw := t.Model.Kind == model.FeedForward || t.Model.Kind == model.LogisticRegression ||
		t.Model.Kind == model.DCNv2
	stack := batch.HashStack{Rounds: 2, Rows: 7}
	for i := range c.between(1, 4) {
		s := batch.Slot{Name: fmt.Sprint("slot", i), Dim: t.Model.Dim(), Scale: c.scale()}
		if raw && c.chance(3) {
			s.Pooling, s.FixedSize = batch.Raw, c.between(1, 3)
		}
		switch {
		case c.chance(4):
			s.Group = "shared"
		case c.chance(4):
			s.HashStack = stack
		}
		c.maximum(&s)
		s.Weighted = s.Pooling == batch.Sum && c.chance(3)
		r.schema.Slots = append(r.schema.Slots, s)
	}
	r.all = c.samples(&r.schema, samples)
	return r
}

// maximum makes some slots take maxima.
func (c chooser) maximum(s *batch.Slot) {
	if s.Pooling == batch.Sum && s.HashStack.Rounds == 0 && c.chance(3) {
		s.Pooling, s.Scale = batch.Max, batch.Unscaled
	}
}

// weight returns one that sums of a scale allow, also where it is the only one of a sample.
func (c chooser) weight(by batch.Scale) float32 {
	w := oneOf(c, 1, 0.25+float32(c.Float64()))
	switch {
	case by == batch.Unscaled && c.chance(4):
		return 0
	case by != batch.Mean && c.chance(3):
		return -w
	}
	return w
}

// scale returns that of the sums of a slot.
func (c chooser) scale() batch.Scale {
	return oneOf(c, batch.Unscaled, batch.Unscaled, batch.SqrtScaled, batch.Mean)
}

func (c chooser) samples(schema *batch.Schema, samples int) *batch.Batch {
	b := &batch.Batch{Samples: samples, Slots: make([]batch.Jagged, len(schema.Slots))}
	for s := range b.Slots {
		most, distinct := oneOf(c, 1, 1, 4), oneOf(c, 3, 30, 1000)
		b.Slots[s].Offsets = []int32{0}
		for range samples {
			n := 1
			if most > 1 {
				n = c.IntN(most + 1)
			}
			for range n {
				b.Slots[s].IDs = append(b.Slots[s].IDs, c.Uint64N(uint64(distinct)))
			}
			b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(len(b.Slots[s].IDs)))
		}
		if slot := &schema.Slots[s]; slot.Weighted && !c.chance(5) { // else all are 1
			for range b.Slots[s].IDs {
				b.Slots[s].Weights = append(b.Slots[s].Weights, c.weight(slot.Scale))
			}
		}
	}
	for range samples * len(schema.Dense) {
		b.Dense = append(b.Dense, float32(c.NormFloat64()))
	}
	for i := range samples {
		for range schema.Labels {
			label := float32(c.IntN(2))
			if i < 2 { // both classes, for AUC
				label = float32(i)
			}
			b.Labels = append(b.Labels, label)
		}
	}
	return b
}

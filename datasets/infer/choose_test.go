package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/selection"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
)

// generated returns rows whose labels follow from single ids, and from pairs of ids if interaction is not 0.
func generated(t *testing.T, rows int, interaction float64) (*datasets.Dataset, job.Data) {
	t.Helper()
	data := job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: rows, TestRows: 5000, PositiveRate: 0.2, Seed: 1,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 300, Exponent: 1},
			{Name: "item", Cardinality: 100, Exponent: 1}, {Name: "hour", Cardinality: 24}},
		Teacher: job.SyntheticTeacher{Linear: 1, Interaction: interaction},
	}}
	set, err := datasets.Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return set, data
}

// chosenJob returns the job of a data set as `train --data` chooses it.
func chosenJob(t *testing.T, set *datasets.Dataset, data job.Data) (j job.Job, first, baseline *Choice) {
	t.Helper()
	j = Job(set)
	j.Name, j.Data = "test", data
	j.Training.Epochs = EpochsToTry(set)
	first, err := ChooseEpochs(t.Context(), j, set, Share(set), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	_, baseline, err = Baseline(t.Context(), j, set, Share(set), backend.Backend{})
	if err != nil || baseline == nil {
		t.Fatal(err)
	}
	_, _, j = Choose([]*Variant{{Job: j, Set: set, Network: first, Regression: baseline}}, true)
	return j, first, baseline
}

// The job that is chosen learns: its AUC is near that of the true probabilities, with interactions too.
func TestChosenJobsLearn(t *testing.T) {
	for _, c := range []struct{ interaction, gap float64 }{{0, 0.02}, {1, 0.04}} {
		interaction := c.interaction
		set, data := generated(t, 30_000, interaction)
		j, first, baseline := chosenJob(t, set, data)
		if least := min(first.Best().LogLoss, baseline.Best().LogLoss); j.Model.Kind == model.DeepFM !=
			(least == first.Best().LogLoss) {
			t.Errorf("interaction %v: a %s, though log losses are %v and %v", interaction, j.Model.Kind,
				first.Best().LogLoss, baseline.Best().LogLoss)
		}
		source, err := datasets.TrainingSource(set, &j)
		if err != nil {
			t.Fatal(err)
		}
		trained, err := selection.Run(t.Context(), selection.Candidate{Job: j, Source: source}, set.Test,
			backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		truth := make([]float32, len(set.TestProbability))
		for i, p := range set.TestProbability {
			truth[i] = float32(p)
		}
		got, best := trained.Curve[len(trained.Curve)-1].AUC, metric.AUC(truth, set.Test.Labels)
		t.Logf("interaction %v: %s, %d epochs, AUC %.4f of %.4f", interaction, j.Model.Kind,
			j.Training.Epochs, got, best)
		if got < best-c.gap {
			t.Errorf("interaction %v: AUC %.4f, the true probabilities have %.4f", interaction, got, best)
		}
	}
}

// Of the networks and regressions of all variants, the one with the lowest log loss of the same rows is
// chosen, and the first one of equals, networks before regressions; a regression of other rows is not, nor
// any where none is asked for.
func TestChooseTakesTheBestModelOfAllVariants(t *testing.T) {
	model := func(kind string, loss float64, held int) *Choice {
		j := job.Default()
		j.Model.Kind, j.Training.Epochs = kind, 1
		return &Choice{Trial: &selection.Trial{Job: j, Curve: []evaluation.Point{{
			Scores: evaluation.Scores{LogLoss: loss}}}}, Held: held}
	}
	const deep, simple = "deepfm", "logistic-regression"
	for _, c := range []struct {
		losses      [4]float64 // network and regression of the first variant, then of the second
		held        int        // rows of the regressions
		regressions bool
		want        string
		variant     int
	}{
		{[4]float64{0.4, 0.6, 0.5, 0.5}, 10, true, deep, 0},
		{[4]float64{0.5, 0.6, 0.4, 0.5}, 10, true, deep, 1},
		{[4]float64{0.5, 0.4, 0.5, 0.6}, 10, true, simple, 0},
		{[4]float64{0.5, 0.6, 0.6, 0.4}, 10, true, simple, 1},
		{[4]float64{0.5, 0.5, 0.5, 0.5}, 10, true, deep, 0},
		{[4]float64{0.5, 0.6, 0.6, 0.4}, 11, true, deep, 0},
		{[4]float64{0.5, 0.6, 0.6, 0.4}, 10, false, deep, 0},
	} {
		all := []*Variant{{}, {}}
		for i, v := range all {
			v.Network, v.Regression = model(deep, c.losses[2*i], 10), model(simple, c.losses[2*i+1], c.held)
			v.Job = v.Network.Job
			v.Job.Training.Mode = job.Hybrid
			v.Network.Job.Training.Mode = job.Hybrid
		}
		best, choice, j := Choose(all, c.regressions)
		if best != all[c.variant] || j.Model.Kind != c.want || j.Training.Mode != job.Hybrid ||
			choice.Job.Model.Kind != c.want || choice != best.Network && choice != best.Regression {
			t.Errorf("%+v: a %s in mode %s", c, j.Model.Kind, j.Training.Mode)
		}
	}
}

// Users and items have tastes, two hidden numbers each. A slot of user and item together helps a logistic
// regression, which cannot multiply them; the network does better without.
func TestASlotOfPairsDoesNotTakeTheTastesOfTheNetwork(t *testing.T) {
	const users, items, rows = 100, 50, 5000
	r := rand.New(rand.NewPCG(1, 2))
	tastes := func(n int) (all [][2]float64) {
		for range n {
			all = append(all, [2]float64{r.NormFloat64(), r.NormFloat64()})
		}
		return all
	}
	ofUsers, ofItems := tastes(users), tastes(items)
	var text strings.Builder
	text.WriteString("label,user,item\n")
	for range rows {
		user, item, label := r.IntN(users), r.IntN(items), 0
		odds := 1.5 * (ofUsers[user][0]*ofItems[item][0] + ofUsers[user][1]*ofItems[item][1])
		if r.Float64() < 1/(1+math.Exp(-odds)) {
			label = 1
		}
		fmt.Fprintf(&text, "%d,u%d,i%d\n", label, user, item)
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	j, set, _, err := Open(Request{File: path, Split: drawn})
	if err != nil {
		t.Fatal(err)
	}
	j.Training.Epochs = EpochsToTry(set)
	all, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err == nil {
		err = TryNetworks(t.Context(), all, Share(set), true, backend.Backend{})
	}
	if err != nil || len(all) != 4 {
		t.Fatalf("%d variants, error %v", len(all), err)
	}
	given, more := all[0], all[1]
	t.Logf("log loss without slots: network %.4f, regression %.4f; with: %.4f, %.4f",
		given.Network.Best().LogLoss, given.Regression.Best().LogLoss, more.Network.Best().LogLoss,
		more.Regression.Best().LogLoss)
	if !(more.Regression.Best().LogLoss < given.Regression.Best().LogLoss) {
		t.Error("the slot does not help the regression, of which the test wants to know")
	}
	for _, v := range all[:2] { // a slot with factors would let the second epoch learn the rows by heart
		if v.Network.Best().LogLoss > given.Regression.Best().LogLoss-0.05 {
			t.Errorf("slots %v: log loss %.4f, which is not far below that of a regression",
				namesOf(v.Job.Data.Derived), v.Network.Best().LogLoss)
		}
	}
	if best, _, chosen := Choose(all, true); chosen.Model.Kind != model.DeepFM ||
		best.Network.Best().LogLoss > min(given.Network.Best().LogLoss, more.Network.Best().LogLoss) {
		t.Errorf("chosen: a %s with slots %v", chosen.Model.Kind, namesOf(chosen.Data.Derived))
	}
}

// A baseline of too few rows has fixed settings; one that is interrupted is an error.
func TestBaselineOfFewRows(t *testing.T) {
	set, data := generated(t, 1, 0)
	j := Job(set)
	j.Data = data
	got, choice, err := Baseline(t.Context(), j, set, Share(set), backend.Backend{})
	if err != nil || choice != nil || got.Training.Epochs != j.Training.Epochs ||
		got.Model.Kind != model.LogisticRegression {
		t.Errorf("%+v, %v, %v", got, choice, err)
	}
	set, data = generated(t, 1000, 0)
	j = Job(set)
	j.Data = data
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Baseline(ctx, j, set, Share(set), backend.Backend{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Few rows hold back a larger share.
func TestShare(t *testing.T) {
	for rows, want := range map[int]float64{100: 0.3, 5000: 0.2, 10_000: 0.1, 1_000_000: 0.1} {
		set, _ := generated(t, min(rows, 20_000), 0)
		if got := Share(set); got != want && rows <= 20_000 {
			t.Errorf("%d rows: %v, want %v", rows, got, want)
		}
	}
}

// threeVariants returns variants of some rows whose networks differ in their rate: a good one first, one that
// hardly learns, and one that learns less.
func threeVariants(t *testing.T, rows int) []*Variant {
	t.Helper()
	set, data := generated(t, rows, 0)
	var all []*Variant
	for _, rate := range []float64{0.1, 1e-9, 0.001} {
		j := Job(set)
		j.Name, j.Data = "test", data
		j.Training.Epochs = 2
		j.Rows.Optimizer.Rate, j.Model.Optimizer.Rate = rate, rate
		all = append(all, &Variant{Job: j, Set: set})
	}
	return all
}

// diverge lets the network of a variant diverge.
func (v *Variant) diverge() { v.Job.Rows.Optimizer.Rate, v.Job.Model.Optimizer.Rate = 1e30, 1e30 }

// A part of many rows decides which network is tried on all; of few, all are. What fails is left out.
func TestTryNetworks(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   int
		change func(all []*Variant)
		parts  string // variants with a choice on a part
		tried  string // on all rows
		fails  bool
	}{
		{"few rows", 2000, func([]*Variant) {}, "", "012", false},
		{"many rows", 1000, func([]*Variant) {}, "012", "0", false},
		{"the best is not the first", 1000, func(all []*Variant) { all[0], all[2] = all[2], all[0] }, "012",
			"2", false},
		{"a part fails", 1000, func(all []*Variant) { all[0].diverge() }, "12", "2", false},
		{"all parts fail", 2, func([]*Variant) {}, "", "012", false},
		{"a network fails", 2000, func(all []*Variant) { all[0].diverge() }, "", "12", false},
		{"all networks fail", 2000, func(all []*Variant) {
			for _, v := range all {
				v.diverge()
			}
		}, "", "", true},
		{"the best of the parts fails on all rows", 1000, func(all []*Variant) {
			bad := *all[0].Set // with a label that is not finite among the rows of no part
			all[0].Set = &bad
			bad.Train = spoilt(t, all[0].Set, 1000)
		}, "012", "2", false},
	} {
		all := threeVariants(t, 2000)
		c.change(all)
		err := tryNetworks(t.Context(), all, 0.2, c.rows, true, backend.Backend{})
		var parts, tried string
		for i, v := range all {
			if v.Part != nil {
				parts += fmt.Sprint(i)
			}
			if v.Network != nil {
				tried += fmt.Sprint(i)
			}
		}
		if parts != c.parts || tried != c.tried || (err != nil) != c.fails {
			t.Errorf("%s: parts %s, want %s; tried %s, want %s; error %v", c.name, parts, c.parts, tried,
				c.tried, err)
		}
	}
}

// spoilt returns the training rows of a set, of which one that is in no part of some rows is not finite.
func spoilt(t *testing.T, set *datasets.Dataset, rows int) *batch.Batch {
	t.Helper()
	numbered := *set
	ids := make([]uint64, set.Train.Samples)
	for i := range ids {
		ids[i] = uint64(i)
	}
	train := *set.Train
	train.Slots = slices.Clone(train.Slots)
	train.Slots[0] = batch.Jagged{Offsets: train.Slots[1].Offsets, IDs: ids}
	numbered.Train = &train
	part, err := numbered.HoldBack(0.2, false, job.Default().Training.Seed, rows)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := numbered.HoldBack(0.2, false, job.Default().Training.Seed, set.Train.Samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range whole.Train.Slots[0].IDs {
		if !slices.Contains(part.Train.Slots[0].IDs, id) {
			bad := *set.Train
			bad.Weights = slices.Repeat([]float32{1}, bad.Samples)
			bad.Weights[id] = float32(math.Inf(1))
			return &bad
		}
	}
	t.Fatal("all rows are in the part")
	return nil
}

// ended is a context that ends when it is asked for the n-th time.
type ended struct {
	context.Context
	left int
}

func (c *ended) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Of many rows, a regression that is clearly ahead on the part is tried on all rows beside the best network,
// and only then. The one that predicts the held-back rows of all better is chosen.
func TestRegressionsOfManyRows(t *testing.T) {
	for _, c := range []struct {
		name       string
		rates      []float64 // of the networks
		step       float64   // of the regressions
		regression bool      // may be chosen
		networks   string    // that are tried on all rows
		simple     bool      // so is a regression
	}{
		{"networks that hardly learn", []float64{1e-9, 1e-9}, RowStep, true, "0", true},
		{"networks that hardly learn, alone", []float64{1e-9, 1e-9}, RowStep, false, "0", false},
		{"a network that learns", []float64{1e-9, 0.1}, 1e-9, true, "1", false},
		{"one network, which hardly learns", []float64{1e-9}, RowStep, true, "0", true},
	} {
		all := threeVariants(t, 2000)[:len(c.rates)]
		var got string
		for i, v := range all {
			v.Job.Rows.Optimizer.Rate, v.Job.Model.Optimizer.Rate = c.rates[i], c.rates[i]
			simple := logistic(v.Job)
			SetRowOptimizer(&simple, 3, c.step)
			var err error
			v.Regression, err = choose(t.Context(), []job.Job{simple}, v.Set, 0.2, 1000, backend.Backend{})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := tryNetworks(t.Context(), all, 0.2, 1000, c.regression, backend.Backend{}); err != nil {
			t.Fatal(err)
		}
		for i, v := range all {
			if v.Network != nil {
				got += fmt.Sprint(i)
			}
		}
		simple := lowest(all, func(v *Variant) *Choice { return v.Whole })
		if got != c.networks || (simple != nil) != c.simple {
			t.Errorf("%s: tried networks %s, want %s; regression %v", c.name, got, c.networks, simple != nil)
		}
		_, choice, j := Choose(all, c.regression)
		if choice.Held != 400 || (j.Model.Kind == model.LogisticRegression) != c.simple ||
			c.simple && choice != simple.Whole {
			t.Errorf("%s: chosen is a %s of %d rows", c.name, j.Model.Kind, choice.Held)
		}
	}
}

// rowsAgain are training rows that are there many times.
type rowsAgain struct {
	*batch.Batch
	times int
}

func (r rowsAgain) Samples() int    { return r.Batch.Samples * r.times }
func (r rowsAgain) IsList(int) bool { return false }

func (r rowsAgain) Between(lo, hi int) (*batch.Batch, error) {
	return batch.Slice(r.Batch, lo, hi), nil
}

func (r rowsAgain) Gather(numbers []int32) (*batch.Batch, error) {
	return batch.Gather(r.Batch, numbers), nil
}

// On all rows, a regression trains on at most 4,000,000 samples, and once on more rows. The regressions are
// behind the networks, each of them once, for the case that all networks diverge.
func TestRegressionsOnAllRowsAreBounded(t *testing.T) {
	for times, want := range map[int]int{1: 2, 1000: 2, 2000: 1, 4000: 1} { // of 2,000 rows; the job has 2
		all := threeVariants(t, 2000)[:2]
		for _, v := range all {
			small := *v.Set
			small.Rows, small.Train = rowsAgain{v.Set.Train, times}, &batch.Batch{}
			v.Set = &small
			simple := logistic(v.Job)
			var err error
			if v.Regression, err = choose(t.Context(), []job.Job{simple}, v.Set, 0.2, 1000,
				backend.Backend{}); err != nil {
				t.Fatal(err)
			}
		}
		all[0].Regression = all[1].Regression // of the same columns
		list, _, err := compare(t.Context(), all, 0.2, 1000, true, backend.Backend{})
		var simple []candidate
		for _, c := range list {
			if c.simple {
				simple = append(simple, c)
			}
		}
		if err != nil || len(list) != 3 || len(simple) != 1 || simple[0].job.Training.Epochs != want {
			t.Errorf("%d rows: %d models, of which %d are regressions, error %v", 2000*times, len(list),
				len(simple), err)
		}
	}
}

// A regression is ahead where its rows lose clearly less, and not by the draw of the rows.
func TestAhead(t *testing.T) {
	labels := make([]float32, 400)
	predicted := func(right float32, exceptions int) *Choice {
		p := make([]float32, len(labels))
		for i := range p {
			labels[i] = float32(i % 2)
			p[i] = 0.5 + (right-0.5)*(2*labels[i]-1)
			if i < exceptions {
				p[i] = 1 - p[i]
			}
		}
		return &Choice{Trial: &selection.Trial{Predicted: p},
			Held: len(p), labels: labels}
	}
	guess := predicted(0.5, 0)
	for _, c := range []struct {
		exceptions int // of 400 rows: they lose ln 1.25, and the others gain ln 1.2
		want       bool
	}{
		{0, true},
		{155, true},  // a lead of 2.55 standard errors, which are 0.405 √(400·0.39·0.61) in all
		{180, false}, // they lose more
		{170, false}, // a lead of one standard error, which draws of rows have
	} {
		if got := predicted(0.6, c.exceptions).ahead(guess); got != c.want {
			t.Errorf("%d exceptions: ahead %t, want %t", c.exceptions, got, c.want)
		}
	}
}

// The choice among the models of a large table trains on its rows at most three times as often as the model
// that is chosen, beside what it trains on a part, whose size does not depend on the rows. The labels are by
// lot, so that the first epoch is the best one, and all that are tried after it are for the choice.
func TestWorkOfAChoice(t *testing.T) {
	const rows, part, held, share = 6000, 500, 50, 0.1
	set, data := generated(t, rows, 0)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range set.Train.Labels {
		set.Train.Labels[i] = float32(r.IntN(2))
	}
	var all []*Variant
	for range 3 {
		j := Job(set)
		j.Name, j.Data, j.Training.Epochs = "test", data, EpochsMost
		all = append(all, &Variant{Job: j, Set: set})
	}
	trained := 0
	m := backend.Backend{Trained: func(_ float64, samples int) { trained += samples }}
	if err := tryNetworks(t.Context(), all, share, part, false, m); err != nil {
		t.Fatal(err)
	}
	onPart := 0
	for _, v := range all {
		onPart += len(v.Part.Curve) * (part - held)
	}
	if most := len(all) * EpochsMost * (part - held); onPart > most {
		t.Errorf("%d samples of a part, want at most %d", onPart, most)
	}
	_, choice, _ := Choose(all, false)
	single := choice.Job.Training.Epochs * rows
	t.Logf("%d samples of the part, %d of all rows; the model trains on %d", onPart, trained-onPart, single)
	if trained <= onPart || trained-onPart > 3*single {
		t.Errorf("%d samples, of which %d of the part; want at most 3 × %d more", trained, onPart, single)
	}
}

// A regression is chosen on a part of a large table.
func TestBaselineOfManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("draws 120,000 rows")
	}
	set, data := generated(t, 120_000, 0)
	j := Job(set)
	j.Data, j.Training.Epochs = data, 1
	trained := 0
	m := backend.Backend{Trained: func(_ float64, samples int) { trained += samples }}
	_, choice, err := Baseline(t.Context(), j, set, 0.1, m)
	if err != nil || choice.Held != partRows/10 {
		t.Fatalf("%+v, error %v", choice, err)
	}
	if most := 2 * EpochsMost * partRows * 9 / 10; trained == 0 || trained > most {
		t.Errorf("%d samples, want at most %d", trained, most)
	}
}

// A choice that is interrupted returns why, whenever that is, and not a choice that was not made.
func TestAnInterruptedChoiceIsAnError(t *testing.T) {
	variants := threeVariants(t, 300)
	count := &ended{t.Context(), math.MaxInt}
	if err := tryNetworks(count, variants, 0.2, 200, true, backend.Backend{}); err != nil {
		t.Fatal(err)
	}
	asked := math.MaxInt - count.left
	if asked < 8 {
		t.Fatalf("the context was asked %d times", asked)
	}
	for n := range asked {
		err := tryNetworks(&ended{t.Context(), n}, variants, 0.2, 200, true, backend.Backend{})
		if err == nil {
			t.Errorf("no error where the context ended before question %d of %d", n, asked)
		}
	}
}

package defaults

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/runtime/train"
)

// result is the result on one split of a table.
type result struct {
	Table         string   `json:"table"`
	Tuned         bool     `json:"tuned,omitempty"`
	Seed          uint64   `json:"seed"`
	Rows          int      `json:"train_rows"`
	TestRows      int      `json:"test_rows"`
	TestPositives int      `json:"test_positives"`
	Columns       string   `json:"columns,omitempty"` // digest of what the libraries were given
	Constant      float64  `json:"constant_log_loss"`
	AUC           float64  `json:"auc"`
	LogLoss       float64  `json:"log_loss"`
	Seconds       float64  `json:"seconds"` // of choosing and training
	Model         string   `json:"model"`
	Epochs        int      `json:"epochs"`
	Derived       []string `json:"derived,omitempty"` // slots
	Means         bool     `json:"means,omitempty"`   // of the labels by id are numbers, too
	Peers         []peer   `json:"peers"`
}

const (
	// margin is the AUC that the default model may lack.
	margin = 0.01
	// secondsMost is what choosing and training may take on a split.
	secondsMost = 60
)

// peer returns the classifier of a library, or nil if the split was measured without it.
func (r *result) peer(name string) *peer {
	if at := slices.IndexFunc(r.Peers, func(p peer) bool { return p.Name == name }); at >= 0 {
		return &r.Peers[at]
	}
	return nil
}

// describe returns the data of a split as cmd/train reads them, with files below folder. Generated rows are
// written there.
func (s *split) describe(folder string) (data job.Data, err error) {
	if s.Label == "" {
		data = s.Data
		if data.Split.How == job.SplitRandom {
			data.Split.Seed = s.seed
		}
		return data, nil
	}
	path := filepath.Join(folder, s.Data.Path)
	if s.Generated {
		at := slices.IndexFunc(generatedTables, func(g generated) bool { return g.name == s.Name })
		if path, err = generatedTables[at].write(folder); err != nil {
			return data, err
		}
	}
	found, err := infer.CSV(path, infer.Options{Label: s.Label})
	if err != nil {
		return data, err
	}
	data = found.Data
	data.Path, data.Split = path, job.Split{How: job.SplitRandom, Test: 0.2, Seed: s.seed}
	return data, nil
}

// measure trains on every split of every table whose files are there, but for those of an earlier run. The
// results have all splits of that one.
func (p *plan) measure(ctx context.Context, python string, o report.Options) ([]*result, error) {
	earlier, err := p.earlier()
	if err != nil {
		return nil, err
	}
	present, _ := report.Present(p.Tables, p.folder)
	var splits []split
	for seed := range p.Seeds {
		for _, t := range present {
			splits = append(splits, split{t, p.Seed + uint64(seed)})
		}
	}
	meter := &report.Meter{Total: len(splits), Unit: "splits", Report: o.Progress}
	fitted := slices.Clone(earlier)
	results, err := report.MeasureCases(o, meter, splits, split.name, func(s split) (*result, error) {
		meter.Show(0, 1, s.name())
		r, err := p.compare(ctx, s, find(earlier, s.Name, s.seed), fitted, python, o.Backend)
		if err == nil {
			fitted = append(fitted, r)
		}
		return r, err
	})
	for _, r := range earlier {
		if find(results, r.Table, r.Seed) == nil {
			results = append(results, r)
		}
	}
	return results, err
}

// earlier returns the results of the run that this one extends.
func (p *plan) earlier() ([]*result, error) {
	if p.Extended == "" {
		return nil, nil
	}
	text, err := os.ReadFile(p.Extended)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Name string    `json:"name"`
		Data []*result `json:"data"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Extended, err)
	}
	if stored.Name != experimentName {
		return nil, cli.UsageError("name the "+experimentName+".json of a run",
			"--extend %s: the numbers of %q", p.Extended, stored.Name)
	}
	return stored.Data, nil
}

// find returns the result on a split, or nil.
func find(results []*result, table string, seed uint64) *result {
	at := slices.IndexFunc(results, func(r *result) bool { return r.Table == table && r.Seed == seed })
	if at < 0 {
		return nil
	}
	return results[at]
}

// hasTestRows returns whether a table has the same test rows on every split.
func (t *table) hasTestRows() bool { return t.Label == "" && t.Data.Split.How != job.SplitRandom }

// kept returns the classifiers of other libraries on the rows of a split that were fitted before, the results
// that they are from, and the libraries that have none. Libraries have seeds of their own, so that of a table
// with test rows they make the same on every split.
func (p *plan) kept(s split, fitted []*result) (peers []peer, from []*result, missing []string) {
	own := func(r *result) bool { return r.Seed == s.seed }
	for _, name := range p.Libraries {
		var lender *result
		for _, r := range fitted {
			if r.Table == s.Name && r.peer(name) != nil && (own(r) || s.hasTestRows()) &&
				(lender == nil || own(r) && !own(lender)) {
				lender = r
			}
		}
		if lender == nil {
			missing = append(missing, name)
			continue
		}
		peers, from = append(peers, *lender.peer(name)), append(from, lender)
	}
	return peers, from, missing
}

// compare trains on a split, and has the other libraries do so. What an earlier run has of it is kept, and so
// are the classifiers of fitted splits of the same rows.
func (p *plan) compare(ctx context.Context, s split, earlier *result, fitted []*result, python string,
	m backend.Backend) (*result, error) {
	peers, from, missing := p.kept(s, fitted)
	if earlier != nil {
		from = append(from, earlier)
		for _, one := range earlier.Peers {
			if !slices.Contains(p.Libraries, one.Name) {
				peers = append(peers, one)
			}
		}
		if len(missing) == 0 && !p.Retrained {
			r := *earlier
			r.Peers = peers
			return &r, r.sameAs(from)
		}
	}
	folder := p.folder
	if s.Generated {
		drawn, err := os.MkdirTemp("", "tandem-defaults-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(drawn)
		folder = drawn
	}
	data, err := s.describe(folder)
	if err != nil {
		return nil, err
	}
	open := func(data job.Data) (*datasets.Dataset, error) { return datasets.Open(data, folder) }
	set, err := open(data)
	if err != nil {
		return nil, err
	}
	r, err := newResult(s, set)
	if err == nil {
		err = r.sameAs(from)
	}
	if err != nil {
		return nil, err
	}
	if earlier == nil || p.Retrained {
		err = r.train(ctx, data, set, open, m)
	} else {
		r.keep(earlier)
	}
	if err != nil {
		return nil, err
	}
	r.Peers = peers
	if len(missing) == 0 {
		return r, nil
	}
	added, err := fit(ctx, python, missing, set)
	for _, one := range added {
		one.AUC, one.LogLoss = metric.AUC(one.Predicted, set.Test.Labels),
			metric.LogLoss(one.Predicted, set.Test.Labels)
		one.Predicted = nil
		r.Peers = append(r.Peers, one)
	}
	return r, err
}

// newResult returns what the rows of a split say, before a training.
func newResult(s split, set *datasets.Dataset) (*result, error) {
	r := &result{Table: s.Name, Tuned: s.Tuned, Seed: s.seed, Rows: set.TrainRows(),
		TestRows: set.Test.Samples}
	constant := make([]float32, r.TestRows)
	for i, label := range set.Test.Labels {
		constant[i] = float32(set.LabelMean(0))
		r.TestPositives += int(label)
	}
	r.Constant = metric.LogLoss(constant, set.Test.Labels)
	text, err := columnsFor(set)
	r.Columns = fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	return r, err
}

// sameAs returns an error unless all results are of the rows and columns of r.
func (r *result) sameAs(others []*result) error {
	for _, other := range others {
		if err := r.sameRows(other); err != nil {
			return err
		}
	}
	return nil
}

// sameRows returns an error unless the rows and columns of r are those of an earlier result.
func (r *result) sameRows(earlier *result) error {
	if r.Rows != earlier.Rows || r.TestRows != earlier.TestRows || r.TestPositives != earlier.TestPositives ||
		r.Constant != earlier.Constant {
		return cli.UsageError("run without --extend", "the table has other rows than in the earlier "+
			"run: %d and %d for the test with %d positives, not %d, %d and %d", r.Rows, r.TestRows,
			r.TestPositives, earlier.Rows, earlier.TestRows, earlier.TestPositives)
	}
	if earlier.Columns != "" && r.Columns != earlier.Columns { // results before there were digests have none
		return cli.UsageError("run without --extend", "the columns of the table have other values than in "+
			"the earlier run")
	}
	return nil
}

// keep takes over the model of an earlier result.
func (r *result) keep(earlier *result) {
	r.AUC, r.LogLoss, r.Seconds = earlier.AUC, earlier.LogLoss, earlier.Seconds
	r.Model, r.Epochs, r.Derived, r.Means = earlier.Model, earlier.Epochs, earlier.Derived, earlier.Means
}

// train chooses and trains.
func (r *result) train(ctx context.Context, data job.Data, set *datasets.Dataset,
	open func(job.Data) (*datasets.Dataset, error), m backend.Backend) error {
	start := time.Now()
	j := infer.Job(set)
	j.Data, j.Training.Seed, j.Training.Epochs = data, r.Seed, infer.EpochsToTry(set)
	share := infer.Share(set)
	variants, err := infer.Derive(ctx, j, set, open, share, m)
	if err != nil {
		return err
	}
	if err := infer.TryNetworks(ctx, variants, share, true, m); err != nil {
		return err
	}
	best, _, j := infer.Choose(variants, true)
	source, err := datasets.TrainingSource(best.Set, &j)
	if err != nil {
		return err
	}
	trained, err := train.Run(ctx, j, source, best.Set.Test, train.Options{Backend: m})
	if err != nil {
		return err
	}
	r.Seconds, r.AUC, r.LogLoss = time.Since(start).Seconds(), trained.AUC, trained.LogLoss
	r.Model, r.Epochs, r.Means = j.Model.Kind, j.Training.Epochs, len(j.Data.Means) > 0
	for _, slot := range j.Data.Derived {
		r.Derived = append(r.Derived, slot.Name)
	}
	return nil
}

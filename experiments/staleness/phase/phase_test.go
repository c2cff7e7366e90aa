package phase

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/exec/evaluation"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/experiments/staleness/theory/stability"
	"tandem/internal/cli"
)

// fake is a lab whose AUC is a hill in the logarithm of the row rate, less α·τ/100 for late rows and
// 0.00001 for every step that is left out. Every seed has a level of its own.
type fake struct {
	trained map[string]int
	diverge bool // late rows diverge
}

// best is the row rate with the highest AUC.
const best = 0.1

func (f *fake) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	results := make([]trial.Result, len(specs))
	for i, s := range specs {
		id, err := s.ID()
		if err != nil {
			return nil, err
		}
		f.trained[id]++
		j, off := &s.Job, math.Log(s.Job.Rows.Optimizer.Rate/best)
		tau := float64(j.Training.Delay.Steps)
		results[i].AUC = 0.7 + 0.001*float64(j.Training.Seed%10) - 0.002*off*off -
			j.Data.Synthetic.Alpha*tau/100 - 0.00001*float64(s.Drop)
		if tau > 0 {
			results[i].Missed.Add(int(tau))
		}
		if f.diverge && tau > 0 {
			results[i] = trial.Result{Diverged: "too fast"}
		}
	}
	return results, nil
}

// small returns a plan of two optimizers, both of which are best at the same rate.
func small() *plan {
	p, _ := (&flags{}).plan(report.Options{Quick: true, Seed: 1, Seeds: 3})
	p.TrainRows, p.TestRows = 1280, 500
	p.Alphas, p.Taus, p.Multiples = []float64{0.01, 0.5}, []int{1, 7}, []float64{1, 4}
	p.RateAlphas, p.RateTaus = []float64{0.5}, []int{7}
	p.Optimizers = []optimizer{{opt.SGD, tune.Grid(best, 3, 1)}, {opt.Adagrad, tune.Grid(best, 3, 1)}}
	p.RetunedTau, p.RetunedAlphas = 7, []float64{0.5}
	p.ClusterGPUs = []int{2}
	return p
}

func TestCellsAreMeasuredAgainstFreshRowsAndTheLag(t *testing.T) {
	p, f := small(), &fake{trained: map[string]int{}}
	r, err := p.train(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 2*(2*2+1) || len(r.Choices) != 4 || len(r.Retuned) != 2 {
		t.Fatalf("%d cells, %d choices, %d retuned", len(r.Cells), len(r.Choices), len(r.Retuned))
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	for _, c := range r.Cells {
		want := c.Alpha * float64(c.Tau) / 100
		if !near(c.Loss.Estimate, want) || c.Loss.High-c.Loss.Low > 1e-9 || c.Missed != float64(c.Tau) {
			t.Errorf("cell %+v, want a loss of %v", c, want)
		}
		if control := c.BeyondLag != nil; control != (c.Multiple == 1) {
			t.Errorf("lag control at %g times the rate: %t", c.Multiple, control)
		} else if control && !near(c.BeyondLag.Estimate, want-0.00001*float64(c.Tau)) {
			t.Errorf("beyond the lag: %v", c.BeyondLag)
		}
		if !near(c.Rates.Rows, best*c.Multiple) {
			t.Errorf("row rate %v at %g times the tuned one", c.Rates.Rows, c.Multiple)
		}
	}
	for _, one := range r.Retuned {
		if !near(one.Before.Estimate, 0.5*7/100) || !near(one.After.Estimate, 0.5*7/100) ||
			!near(one.Ratio.Estimate, 1) {
			t.Errorf("retuned %+v", one)
		}
	}
}

func TestADivergedTrainingIsAGuess(t *testing.T) {
	p := small()
	p.RetunedAlphas = nil
	r, err := p.train(t.Context(), &fake{trained: map[string]int{}, diverge: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		if c.Diverged != p.Seeds || c.Late[0] != 0.5 || c.Loss.Estimate < 0.1 {
			t.Errorf("cell %+v", c)
		}
	}
}

// at returns a cell with a loss and one beyond the lag, each ± 0.0005.
func at(kind string, alpha float64, tau int, whole, beyond float64) cell {
	around := func(v float64) metric.Interval {
		return metric.Interval{Estimate: v, Low: v - 0.0005, High: v + 0.0005}
	}
	b := around(beyond)
	return cell{Optimizer: kind, Alpha: alpha, Multiple: 1, Tau: tau, Loss: around(whole), BeyondLag: &b}
}

func TestRegionOfACell(t *testing.T) {
	for _, c := range []struct {
		whole, beyond float64
		want          region
	}{
		{0, 0, safe}, {0.0004, 0.003, safe}, {0.0006, 0, unclear}, {0.003, 0.003, loss},
		{0.003, 0.0009, unclear}, // the lag explains it
		{0.0009, 0.003, unclear}, // luck of the control
		{-0.003, -0.003, safe},
	} {
		one := at(opt.SGD, 0.1, 1, c.whole, c.beyond)
		if got := one.region(); got != c.want {
			t.Errorf("loss %v, beyond the lag %v: %s, want %s", c.whole, c.beyond, got, c.want)
		}
	}
}

func TestPlacesBetweenCellsHaveTheWorstOfThem(t *testing.T) {
	d := (&result{Cells: []cell{
		at(opt.Adagrad, 0.01, 1, 0, 0), at(opt.Adagrad, 0.01, 7, 0.0008, 0.0008),
		at(opt.Adagrad, 0.5, 1, 0, 0), at(opt.Adagrad, 0.5, 7, 0.004, 0.003),
	}}).diagram()
	for _, c := range []struct {
		top, late float64
		want      region
		rarer     bool
	}{
		{0.01, 1, safe, false}, {0.2, 1, safe, false}, {0.01, 3, unclear, false}, {0.2, 3, loss, false},
		{0.001, 1, safe, true}, {0.001, 7, unclear, true}, {0.6, 1, outside, false},
		{0.01, 8, outside, false},
		{0.2, 0.5, safe, false}, {0.9, 0, safe, false},
	} {
		p := d.find(opt.Adagrad, c.top, c.late)
		if p.Region != c.want || p.Rarer != c.rarer {
			t.Errorf("top id in %v, %v steps late: %+v, want %s", c.top, c.late, p, c.want)
		}
	}
	if p := d.find(opt.RowwiseAdagrad, 0.5, 7); p.Worst != 0.003 {
		t.Errorf("worst %v", p.Worst)
	}
	if p := d.find(opt.Adam, 0.5, 7); p.Region != notTested {
		t.Errorf("Adam, which has no cell: %+v", p)
	}
}

// The largest delay is the last whose boundary is above the product.
func TestLargestStableDelay(t *testing.T) {
	for _, d := range []int{0, 1, 7, 100} {
		b := stability.Boundary(d)
		if got := largestStable(b * 0.999); got != d {
			t.Errorf("below the boundary of %d: %d", d, got)
		}
		if got := largestStable(b * 1.001); got != d-1 {
			t.Errorf("above the boundary of %d: %d", d, got)
		}
	}
}

// linear is a model whose logit is the sum over rows of slope·value, with two rows of two values. Row 1 is in
// every sample, row 2 in every second.
type linear struct{ slopes [2][2]float64 }

func (linear) ReadDense() (model.Values, error) { return model.Values{}, nil }

func (linear) ReadRows(_ int, signs []uint64, dst []float32) error {
	clear(dst)
	return nil
}

// Evaluate predicts four samples.
func (l linear) Evaluate(s evaluation.State) ([]float32, error) {
	rows := make([]float32, 4)
	if err := s.ReadRows(0, []uint64{1, 2}, rows); err != nil {
		return nil, err
	}
	p := make([]float32, 4)
	for i := range p {
		z := l.slopes[0][0]*float64(rows[0]) + l.slopes[0][1]*float64(rows[1])
		if i%2 == 0 {
			z += l.slopes[1][0]*float64(rows[2]) + l.slopes[1][1]*float64(rows[3])
		}
		p[i] = float32(1 / (1 + math.Exp(-z)))
	}
	return p, nil
}

// At 0 all probabilities are ½. One row in every sample has ¼·|g|²; one in half of them ⅛·|g|². Together, in
// the basis of the two gradients of length 1, the matrix is ¼·[1 ½; ½ ½], whose larger eigenvalue is
// ¼·(¾ + √5/4).
func TestCurvatureOfALinearModel(t *testing.T) {
	for _, c := range []struct {
		slopes [2][2]float64
		want   float64
	}{
		{[2][2]float64{{3, 4}, {0, 0}}, 25. / 4}, {[2][2]float64{{0, 0}, {3, 4}}, 25. / 8},
		{[2][2]float64{{0, 1}, {1, 0}}, 0.25 * (0.75 + math.Sqrt(5)/4)},
	} {
		l := linear{c.slopes}
		got, err := gaussNewton(l, l, []uint64{1, 2}, 2)
		if err != nil || math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("slopes %v: curvature %v, want %v, %v", c.slopes, got, c.want, err)
		}
	}
}

func TestEdgesAreHalfwayOnALogarithmicAxis(t *testing.T) {
	got := edges([]float64{0.01, 0.1, 1}, 0)
	for i, want := range []float64{-2.5, -1.5, -0.5, 0.5} {
		if math.Abs(math.Log10(got[i])-want) > 1e-9 {
			t.Errorf("edge %d is %v", i, got[i])
		}
	}
}

// What is stored belongs together: every panel is whole, and the columns can be placed.
func TestStoredResult(t *testing.T) {
	r, err := loadFull()
	if err != nil {
		t.Fatal(err)
	}
	d := r.diagram()
	if !slices.Equal(r.kinds(), []string{opt.SGD, opt.Adagrad, opt.Adam, opt.FTRL}) || len(d.alphas) < 5 ||
		len(d.taus) < 5 || r.Setup.Seeds < 5 {
		t.Fatalf("optimizers %v, α %v, τ %v, %d seeds", r.kinds(), d.alphas, d.taus, r.Setup.Seeds)
	}
	for _, kind := range r.kinds() {
		for _, alpha := range d.alphas {
			for _, tau := range d.taus {
				if c := d.at(kind, tuned, alpha, tau); c == nil || len(c.Late) != r.Setup.Seeds ||
					c.BeyondLag == nil {
					t.Errorf("%s, α = %g, τ = %g: %+v", kind, alpha, tau, c)
				}
			}
		}
	}
	if err := r.placeColumns(); err != nil {
		t.Fatal(err)
	}
	if series := r.figure().Heat.Series; len(series) != 4 {
		t.Errorf("data %v", series)
	}
	for _, c := range r.Columns {
		if !(c.Top > 0 && c.Top < 1) || c.IDs < 1 || c.Source == "" {
			t.Errorf("columns.yaml: %+v", c)
		}
	}
	if shortest, longest, worst := r.Lateness.delays(); !(shortest <= longest && longest <= worst) {
		t.Errorf("delays %v to %v, %v at worst", shortest, longest, worst)
	}
}

// A simulated read is late, and by no more than its bound.
func TestSimulatedDelaysKeepTheirBound(t *testing.T) {
	l, err := simulate(t.Context(), []int{2}, 16)
	if err != nil {
		t.Fatal(err)
	}
	c := l.Clusters[0]
	if c.GPUs != 2 || !(c.Late > 1) || c.Own.Max > l.Tau || c.Cross.Max > 2*l.Tau+1 ||
		math.Abs(c.Late-(c.Own.Mean+c.Cross.Mean)/2) > 1e-9 {
		t.Errorf("%+v", l)
	}
}

// A real run of a tiny plan writes all tables and figures.
func TestTinyRun(t *testing.T) {
	p := small()
	p.Seeds, p.Optimizers = 2, p.Optimizers[:1]
	p.Job.Model.EmbeddingDim, p.Job.Model.Top = 2, []int{4}
	r, err := p.measure(t.Context(), report.Options{Folder: t.TempDir(), Progress: reporttest.Progress(t)})
	if err != nil {
		t.Fatal(err)
	}
	out := p.report(r)
	if len(out.Tables) != 3 || len(out.Figures) != 2 || len(out.Tables[0].Rows) != 2*2 {
		t.Errorf("%d tables, %d figures", len(out.Tables), len(out.Figures))
	}
	reporttest.CheckWidth(t, out)
	for _, f := range out.Figures {
		if _, err := f.SVG(); err != nil {
			t.Error(err)
		}
	}
	if len(r.Boundaries) != 3 || r.Boundaries[0].Curvature <= 0 {
		t.Errorf("boundaries %+v", r.Boundaries)
	}
}

// jobFile writes a job file and returns its path.
func jobFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// generated describes two columns: one with a rare top id, one with an id in nine of ten rows.
const generated = `data:
  kind: synthetic
  synthetic:
    seed: 1
    train-rows: 1000
    test-rows: 1000
    columns:
      - {name: user, cardinality: 100000, zipf: 1, top: 0.002}
      - {name: country, cardinality: 50, zipf: 1, top: 0.9}
training: {mode: %s%s}
`

// placeJob finds where the tables of a job file lie.
func placeJob(t *testing.T, file string) (*jobPlan, *placed, error) {
	t.Helper()
	full, err := loadFull()
	if err != nil {
		t.Fatal(err)
	}
	p := &jobPlan{file, full}
	of, err := p.measure(t.Context(), report.Options{})
	return p, of, err
}

func TestPlaceOfAJob(t *testing.T) {
	for _, c := range []struct{ mode, more, user, country string }{
		{"hybrid", ", staleness: 1", "inside the measured safe region, judged as 0.4 %",
			"outside what was measured"},
		{"hybrid", ", staleness: 200", "outside what was measured", "outside what was measured"},
		{"sync", "", "safe, as no read is late", "safe, as no read is late"},
		{"async-average", ", staleness: 1", "there is no bound.", "outside what was measured"},
		{"sequential", "", "safe, as no read is late", "safe, as no read is late"},
		{"sequential", ", delay: exactly 1", "inside the measured safe region, judged as 0.4 %",
			"outside what was measured"},
		{"sequential", ", delay: exactly 200", "outside what was measured", "outside what was measured"},
	} {
		p, of, err := placeJob(t, jobFile(t, fmt.Sprintf(generated, c.mode, c.more)))
		if err != nil {
			t.Fatal(err)
		}
		out := p.report(of)
		for i, want := range []string{c.user, c.country} {
			if got := out.Findings[i]; !strings.Contains(got, want) {
				t.Errorf("%s%s: %q, want %q", c.mode, c.more, got, want)
			}
		}
		if len(out.Tables[0].Rows) != 2 || len(out.Figures) != 1 {
			t.Errorf("report %+v", out)
		}
	}
}

// Ids of real rows are counted: the census has its own columns, and most people live in one country.
func TestTopIdsAreCounted(t *testing.T) {
	_, of, err := placeJob(t, jobFile(t, "data: {kind: adult-income}\n"))
	if err != nil {
		t.Fatal(err)
	}
	tables := of.Tables
	at := slices.IndexFunc(tables, func(t table) bool { return strings.Contains(t.Slot, "country") })
	if at < 0 || !tables[at].Counted || math.Abs(tables[at].Top-0.9) > 0.02 {
		t.Errorf("tables %+v", tables)
	}
}

func TestASlotWithoutIDsHasNoPlace(t *testing.T) {
	one := table{Slot: "weekday", Late: 9, Place: place{Region: empty}}
	if got := one.sentence(&diagram{}); got != "weekday: no ids in the training rows." {
		t.Errorf("%q", got)
	}
	r, err := loadFull()
	if err != nil {
		t.Fatal(err)
	}
	p := &jobPlan{full: r}
	out := p.report(&placed{Job: "mine", Optimizer: opt.Adagrad, Tables: []table{one}})
	if h := out.Figures[0].Heat; len(h.Panels[0].Points) != 0 || !(h.X.Low > 0) {
		t.Errorf("points %v, axis from %v", h.Panels[0].Points, h.X.Low)
	}
}

func TestBadJobFilesAreOneClearLine(t *testing.T) {
	for text, want := range map[string]string{
		"data: {kind: synthetic\n":                           "mine.yaml",
		"data: {kind: adult-income}\nrowz: {}\n":             `unknown key "rowz"`,
		"data: {kind: criteo, path: nowhere.txt}\n":          "nowhere.txt",
		"data: {kind: adult-income}\ntraining: {mode: no}\n": "mode",
	} {
		_, _, err := placeJob(t, jobFile(t, text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := placeJob(t, filepath.Join(t.TempDir(), "absent.yaml")); err == nil ||
		!strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("an absent file: %v", err)
	}
}

// withFlags returns the experiment with flags.
func withFlags(t *testing.T, words ...string) *report.Experiment {
	t.Helper()
	e := New()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	e.AddFlags(flags)
	if err := flags.Parse(words); err != nil {
		t.Fatal(err)
	}
	return e
}

// What is missing is named with its place, and the hint says what to get.
func TestMissingDataOfAJob(t *testing.T) {
	path := jobFile(t, "data: {kind: criteo, path: nowhere.txt}\n")
	var e *cli.Error
	_, _, err := placeJob(t, path)
	if !errors.As(err, &e) || err.Error() != "criteo: there is no "+filepath.Join(filepath.Dir(path),
		"nowhere.txt") {
		t.Fatal(err)
	}
	for _, want := range []string{"put there data of kind criteo, for example the first 10,000 rows",
		"; paths start at --data-folder or TANDEM_DATA, else at the job file"} {
		if !strings.Contains(e.Hint, want) {
			t.Errorf("hint %q, want %q", e.Hint, want)
		}
	}
}

// Flags of the grid have no effect on stored results, so they are refused.
func TestStoredResultsHaveNoGrid(t *testing.T) {
	e := withFlags(t, "--file=a.yaml", "--taus", "3")
	_, err := e.Run(t.Context(), report.Options{})
	if err == nil || !strings.Contains(err.Error(), "trains nothing, so --taus has no effect") {
		t.Errorf("--file with --taus: %v", err)
	}
	if flag, none := e.ReadsStored(), New().ReadsStored(); flag != "--file" || none != "" {
		t.Errorf("%q, without flags %q", flag, none)
	}
}

// The flags of the grid leave a plan whose parts fit together.
func TestRestrict(t *testing.T) {
	p, _ := (&flags{}).plan(report.Options{})
	p.restrict([]int{0, 7}, []float64{0.02, 0.5})
	if !slices.Equal(p.Taus, []int{7}) || !slices.Equal(p.RateTaus, []int{7}) ||
		!slices.Equal(p.RateAlphas, []float64{0.5}) || !slices.Equal(p.RetunedAlphas, []float64{0.5}) ||
		len(p.Multiples) != 3 {
		t.Errorf("plan %+v", p)
	}
	p.restrict([]int{3}, []float64{0.5})
	if !slices.Equal(p.Multiples, []float64{tuned}) {
		t.Errorf("multiples %v without a cell at other rates", p.Multiples)
	}
}

type failing struct{}

func (failing) Run(context.Context, []trial.Spec) ([]trial.Result, error) {
	return nil, errors.New("no rows")
}

func TestErrorsPass(t *testing.T) {
	if _, err := small().train(t.Context(), failing{}); err == nil {
		t.Error("no error")
	}
}

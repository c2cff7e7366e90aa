package timetoauc

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/build"
)

// tinyPlan returns a plan of a few seconds: one cluster, 2 and 4 GPUs, sync and hybrid.
func tinyPlan(t *testing.T) *plan {
	t.Helper()
	p, err := newPlan(false)
	if err != nil {
		t.Fatal(err)
	}
	p.Data.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 1600, TestRows: 400, Numeric: 2,
		Columns: []job.SyntheticColumn{{Name: "c", Cardinality: 50, Exponent: 1}},
	}}
	p.Networks = []network{{"4", 4, []int{4}}}
	p.Clusters, p.GPUs, p.Modes = p.Clusters[:2], []int{2, 4}, []string{job.Sync, job.Hybrid}
	p.TargetShare, p.Evaluations = 0.5, 20
	p.Tuning = tune.Plan{Rows: []float64{nominal.Rows}, Dense: []float64{nominal.Dense}}
	p.Seed, p.Seeds = 1, 2
	return p
}

// A second run in the folder of the first trains nothing and reports the same, for dollars too.
func TestRunsAreResumed(t *testing.T) {
	folder, trained := t.TempDir(), 0
	o := report.Options{Seeds: 2, Seed: 1, Folder: folder, Progress: func(int, int, string) { trained++ }}
	var texts [2]string
	for i, m := range []measured{inTime(), inCents()} {
		trained = 0
		p := tinyPlan(t)
		made, err := trial.Measure(o, "tiny", 0, func(lab *trial.Lab) (*results, error) {
			return p.measure(t.Context(), lab)
		})
		if err != nil {
			t.Fatal(err)
		}
		r := p.report(made, m)
		text, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
		if (trained > 0) != (i == 0) {
			t.Errorf("run %d trains %d times", i, trained)
		}
		if len(r.Tables) != 1 || len(r.Tables[0].Rows) != 8 || len(r.Figures) == 0 || len(r.Findings) < 3 {
			t.Errorf("%d tables, %d figures, findings %q", len(r.Tables), len(r.Figures), r.Findings)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\nthen\n%s", texts[0], texts[1])
	}
}

// What is trained is what is priced. Sync learns the same on every cluster, at every point of the box, since
// its numbers do not depend on the order of events; its times differ. Money is time × price, and a target is
// reached at the first evaluation that has it.
func TestOptions(t *testing.T) {
	p := tinyPlan(t)
	lab, err := trial.Open(report.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	r, err := p.measure(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	n := r.Networks[0]
	for _, gpus := range p.GPUs {
		a, b := n.find("A100", gpus, job.Sync), n.find("T4", gpus, job.Sync)
		for i := range a.Runs {
			if a.Runs[i].AUC != b.Runs[i].AUC || a.Runs[i].Seconds == b.Runs[i].Seconds {
				t.Errorf("%d GPUs: %+v on A100, %+v on T4", gpus, a.Runs[i], b.Runs[i])
			}
		}
	}
	options := p.options(p.Networks[0])
	for i, o := range n.Options {
		spec := p.spec(&options[i], o.Rates, 1)
		if spec.Box == nil || *spec.Box != (trial.BoxPoint{Samples: 2, Index: 1}) {
			t.Errorf("%v: the second training is at %+v", o, spec.Box)
		}
		for i, run := range o.Runs {
			if run.To == nil {
				continue
			}
			if run.To.AUC < r.Target[i] || math.Abs(run.Dollars*3600/run.Hourly-run.To.Seconds) > 1e-12 {
				t.Errorf("%v: %+v to %v", o, run, r.Target[i])
			}
		}
	}
	// The reference stops after 25 of the 50 steps of sync with 2 GPUs, at the same rates; evaluations are
	// every 2 steps.
	if o := n.find("A100", 2, job.Sync); o.Reached != 2 || o.Runs[0].To.Step > 26 {
		t.Errorf("sync with the fewest GPUs takes %+v", o.Runs[0].To)
	}
}

// Prices of 8 A100s: a server, 4 + 4 + 1 hosts and, in modes with dense PSs, 4 more.
func TestHourlyPrices(t *testing.T) {
	p := tinyPlan(t)
	for mode, want := range map[string]float64{
		job.Sync: 5.916 + 8*2.934 + 9*1.566, job.AsyncPS: 5.916 + 8*2.934 + 13*1.566,
	} {
		got, err := p.hourly(&option{p.Networks[0], p.Clusters[0], 8, mode}, 0)
		if err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: $%v an hour, want %v, %v", mode, got, want, err)
		}
	}
	t4 := option{p.Networks[0], p.Clusters[1], 8, job.Sync}
	low, err := p.hourly(&t4, 0)
	if err != nil {
		t.Fatal(err)
	}
	high, _ := p.hourly(&t4, 1)
	if min(low, high) < 2.8+11*0.8 || max(low, high) > 2.8+11*3.2 || low == high {
		t.Errorf("hosts at $0.8 to 3.2 an hour: %v and %v", low, high)
	}
}

// The interval of the next of 4, 1 and 16: logarithms have the mean log 4 and the deviation log 4, and
// Student's t of 2 degrees of freedom is 4.303.
func TestDraw(t *testing.T) {
	v := nextValue([]float64{4, 1, 16})
	half := 4.302653 * math.Log(4) * math.Sqrt(1+1.0/3)
	if math.Abs(v.Estimate-4) > 1e-9 || math.Abs(math.Log(v.High/4)-half) > 1e-4 ||
		math.Abs(math.Log(4/v.Low)-half) > 1e-4 {
		t.Errorf("%+v", v)
	}
}

// made returns an option with these seconds to the target, at $36 an hour; 0 is not reached.
func made(cluster, mode string, gpus int, times ...float64) *optionResult {
	o := &optionResult{Cluster: cluster, GPUs: gpus, Mode: mode}
	for _, s := range times {
		r := run{Hourly: 36, AUC: 0.7}
		if s > 0 {
			r.To, r.Dollars = &evaluation.Point{Seconds: s, Step: 10, Samples: 100}, s/100
		}
		o.Runs = append(o.Runs, r)
	}
	o.summarise()
	return o
}

// A reader learns which cluster to rent if the trainings tell clusters apart, and that they do not otherwise.
func TestRent(t *testing.T) {
	p := tinyPlan(t)
	n := &networkResult{Network: "4", Options: []*optionResult{
		made("A100", job.Sync, 2, 1, 2, 4), made("A100", job.Hybrid, 2, 0.5, 1.01, 2),
		made("T4", job.Sync, 2, 5, 10, 21),
	}}
	text := strings.Join(p.rent(n), "\n")
	if !strings.Contains(text, "the cheapest option is 2 A100, hybrid, 1.00 (") ||
		!strings.Contains(text, "The best of T4, 2 T4, sync, is 10.1 (") ||
		strings.Contains(text, "cannot be told apart from it:") ||
		!strings.Contains(text, "0 cannot be told apart") {
		t.Error(text)
	}
	n.Options[2] = made("T4", job.Sync, 2, 5, 0.4, 21)
	if text = p.rent(n)[1]; !strings.Contains(text, "fastest option") ||
		!strings.Contains(text, "cannot be told apart from it: ") {
		t.Error(text)
	}
	n.Options[1] = made("A100", job.Hybrid, 2, 0.5, 0, 2)
	text = strings.Join(append(p.rent(n), n.missed()), "\n")
	if !strings.Contains(text, "2 A100, hybrid (2 of 3; AUC after training 0.700") ||
		!strings.Contains(text, "option is 2 A100, sync") {
		t.Error(text)
	}
	for i, o := range n.Options {
		n.Options[i] = made(o.Cluster, o.Mode, o.GPUs, 0, 0)
	}
	if text = p.rent(n)[0]; !strings.Contains(text, "no cluster can be recommended") {
		t.Error(text)
	}
}

// The same job takes the same simulated time and money in sim train, to the nanosecond.
func TestAgreesWithSimTrain(t *testing.T) {
	p := tinyPlan(t)
	lab, err := trial.Open(report.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	o := option{p.Networks[0], p.Clusters[0], 4, job.Hybrid}
	spec := p.spec(&o, nominal, 0)
	spec.Box = nil // sim train has the middle
	trained, err := lab.Run(t.Context(), []trial.Spec{spec})
	if err != nil {
		t.Fatal(err)
	}
	const hourly = 40
	goal := trained[0].Curve[len(trained[0].Curve)/2].AUC
	ours := newRun(1, &trained[0], goal, hourly)
	text, err := yaml.Marshal(spec.Job)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	sim, file := filepath.Join(folder, "sim"), filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := build.Program(t.Context(), sim, "tandem/cmd/sim"); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(sim, "train", "--file", file, "--target-auc", fmt.Sprint(goal),
		"--dollars-per-gpu-hour", fmt.Sprint(hourly/4.0), "--json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var theirs struct {
		Runs []struct {
			Trainings []struct {
				Target struct{ Seconds, Dollars *float64 }
				AUC    float64
			}
		}
	}
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatal(err)
	}
	got := theirs.Runs[0].Trainings[0]
	if got.AUC != ours.AUC || got.Target.Seconds == nil || *got.Target.Seconds != ours.To.Seconds ||
		math.Abs(*got.Target.Dollars-ours.Dollars) > 1e-15 {
		t.Errorf("sim train: %s\nours: %+v at %v", out, ours, ours.To)
	}
}

// Flags that have no meaning are refused.
func TestFlags(t *testing.T) {
	e := New()
	for _, words := range [][]string{{"--gpus", "0"}, {"--target-share", "1"}, {"--target-share", "-1"}} {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		e.AddFlags(set)
		if err := set.Parse(words); err != nil {
			t.Fatal(err)
		}
		_, err := e.Run(t.Context(), report.Options{})
		if err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%s: error %v", words, err)
		}
	}
}

package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/report"
)

// small returns a training of a few milliseconds.
func small(t *testing.T, seed uint64, late string) Spec {
	t.Helper()
	j := job.Default()
	j.Data = report.Generated(0.1, 2000, 1000).WithSeed(seed)
	j.Model.EmbeddingDim, j.Model.Top = 4, []int{8}
	j.Training.Mode, j.Training.GlobalBatch, j.Training.Seed = job.Sequential, 100, seed
	if late != "" {
		spec, err := delay.Parse(late)
		if err != nil {
			t.Fatal(err)
		}
		j.Training.Delay = spec
	}
	return Spec{Job: j, Part: Test, Name: "late " + late}
}

// open returns a lab in a folder that counts trainings.
func open(t *testing.T, folder string, trained *int) *Lab {
	t.Helper()
	lab, err := Open(report.Options{Folder: folder, Progress: func(int, int, string) { *trained++ }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lab.Close() })
	return lab
}

func runAll(t *testing.T, lab *Lab, specs ...Spec) []Result {
	t.Helper()
	results, err := lab.Run(context.Background(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range results {
		results[i].StepSeconds = 0 // real time
	}
	return results
}

// The order of a training with roles is kept with its result, and a training that follows it is another one.
func TestOrderIsKept(t *testing.T) {
	folder, trained := t.TempDir(), 0
	hybrid := small(t, 1, "")
	hybrid.Job.Training.Mode, hybrid.RecordOrder = job.Hybrid, true
	first := runAll(t, open(t, folder, &trained), hybrid)
	lab := open(t, folder, &trained)
	again := runAll(t, lab, hybrid)
	if trained != 1 || first[0].Order == nil || !reflect.DeepEqual(first[0].Order, again[0].Order) {
		t.Fatalf("%d trainings: %+v, then %+v", trained, first[0].Order, again[0].Order)
	}
	plain := small(t, 1, "")
	plain.Job.Training.Merge = job.MergeRank
	ordered := plain
	ordered.Order = again[0].Order
	results := runAll(t, lab, plain, ordered)
	if results[1].AUC != first[0].AUC || results[1].LogLoss != first[0].LogLoss || trained != 3 {
		t.Errorf("%d trainings, %+v; want the scores of %+v", trained, results[1], first[0])
	}
}

func TestEverySpecIsTrainedOnce(t *testing.T) {
	folder, trained := t.TempDir(), 0
	lab := open(t, folder, &trained)
	a, b := small(t, 1, ""), small(t, 1, "exactly 3")
	first := runAll(t, lab, a, b, a)
	if trained != 2 || !reflect.DeepEqual(first[0], first[2]) || first[0].LogLoss == first[1].LogLoss {
		t.Fatalf("%d trainings: %+v", trained, first)
	}
	if first[1].Staleness.Own.Max() != 3 || first[1].Missed.Count() == 0 {
		t.Errorf("a delay of 3 has staleness %v", first[1].Staleness.Own.Summary())
	}
	again := runAll(t, open(t, folder, &trained), b, a)
	if trained != 2 {
		t.Errorf("a second lab in the folder trained %d again", trained-2)
	}
	if !reflect.DeepEqual(again, []Result{first[1], first[0]}) {
		t.Errorf("read %+v, want %+v", again, first)
	}
}

// Experiments of one command share equal trainings that are deterministic; those with threads are made again.
func TestTrainingsOfEarlierExperimentsAreTakenOver(t *testing.T) {
	first, second, trained := t.TempDir(), t.TempDir(), 0
	a, threads := small(t, 1, "exactly 3"), small(t, 1, "")
	threads.Job.Training.Mode = job.Hybrid
	want := runAll(t, open(t, first, &trained), a, threads)
	lab, err := Open(report.Options{
		Folder: second, Earlier: []string{t.TempDir(), first}, Progress: func(int, int, string) { trained++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	trained = 0
	if got := runAll(t, lab, a); trained != 0 || !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("trained %d times: %+v, want %+v", trained, got, want[:1])
	}
	if runAll(t, lab, threads); trained != 1 {
		t.Errorf("a training with threads was taken over")
	}
	lab.Close()
	trained = 0
	if got := runAll(t, open(t, second, &trained), a); trained != 0 || !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("a training that was taken over is not in the folder: trained %d times", trained)
	}
}

// Progress counts to the end of an experiment that says how much is to come, also where trainings are
// repeated or have results already. Without that, it counts to the end of a call.
func TestProgressCountsToTheEnd(t *testing.T) {
	a, b, c := small(t, 1, ""), small(t, 2, ""), small(t, 3, "")
	for expected, want := range map[int]string{4: "1/4 2/4 3/3", 0: "1/2 2/2 3/3", 9: "1/9 2/9 3/8"} {
		var seen []string
		lab, err := Open(report.Options{Folder: t.TempDir(),
			Progress: func(done, total int, _ string) {
				seen = append(seen, fmt.Sprintf("%d/%d", done/100, total/100))
			}})
		if err != nil {
			t.Fatal(err)
		}
		lab.Expect(expected)
		runAll(t, lab, a, b)
		runAll(t, lab, a, c)
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%d expected: %s, want %s", expected, got, want)
		}
		lab.Close()
	}
}

// A kill may cut the last line anywhere; what was on disk before counts.
// Measure passes on what was measured, names the experiment in errors, and reports what closing the lab does.
func TestMeasure(t *testing.T) {
	o := report.Options{Folder: t.TempDir()}
	var lab *Lab
	got, err := Measure(o, "small", 3, func(l *Lab) (int, error) {
		lab = l
		return l.expected, nil
	})
	if got != 3 || err != nil || lab.Close() == nil {
		t.Errorf("%d, %v; want 3 and a lab that is closed", got, err)
	}
	failed := errors.New("no luck")
	if _, err := Measure(o, "small", 3, func(*Lab) (int, error) { return 0, failed }); !errors.Is(err,
		failed) || err.Error() != "small: no luck" {
		t.Errorf("got %v", err)
	}
	if _, err := Measure(o, "small", 3, func(l *Lab) (int, error) { return 0, l.Close() }); err == nil {
		t.Error("a lab that could not be closed is not reported")
	}
}

func TestACutLineIsTrainedAgain(t *testing.T) {
	folder, trained := t.TempDir(), 0
	a, b := small(t, 1, ""), small(t, 2, "")
	want := runAll(t, open(t, folder, &trained), a, b)
	path := filepath.Join(folder, fileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for _, keep := range []int{1, len(lines[2]) / 2, len(lines[2]) - 1} {
		cut := lines[0] + lines[1] + lines[2][:keep]
		if err := os.WriteFile(path, []byte(cut), 0o644); err != nil {
			t.Fatal(err)
		}
		trained = 0
		if got := runAll(t, open(t, folder, &trained), a, b); trained != 1 || !reflect.DeepEqual(got, want) {
			t.Errorf("cut after %d bytes of the line: %d trainings, results %+v", keep, trained, got)
		}
		if now, _ := os.ReadFile(path); strings.Count(string(now), "\n") != 3 {
			t.Errorf("the file is now\n%s", now)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":99,"engine":"ENGINE"}` + "\n":                                   "new folder",
		`{"format":1,"engine":"other"}` + "\n":                                     "new folder",
		"nonsense\n":                                                               "new folder",
		`{"format":1,"engine":"ENGINE"}` + "\n{]\n":                                ":2: ",
		`{"format":1,"engine":"ENGINE"}` + "\n" + `{"id":"a","Own":"AAAA"}` + "\n": ":2: ",
	} {
		folder, trained := t.TempDir(), 0
		open(t, folder, &trained)
		path := filepath.Join(folder, fileName)
		header, _ := os.ReadFile(path)
		engine := strings.Split(string(header), `"`)[5]
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "ENGINE", engine)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(report.Options{Folder: folder})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fileName) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestValidationRowsAreNotTrainedOn(t *testing.T) {
	trained := 0
	s := small(t, 1, "")
	v := s
	v.Part = Validation
	got := runAll(t, open(t, t.TempDir(), &trained), s, v)
	if got[0].Samples != 2000 || got[0].TestRows != 1000 || got[1].Samples != 1800 || got[1].TestRows != 200 {
		t.Errorf("%+v", got)
	}
	v.Job.Data.Synthetic.Stream = true
	if got := runAll(t, open(t, t.TempDir(), &trained), v)[0]; got.Samples != 1800 || got.TestRows != 200 {
		t.Errorf("streamed rows: %+v", got)
	}
}

func TestDropLeavesOutTheLastSteps(t *testing.T) {
	trained := 0
	s := small(t, 1, "")
	s.Drop = 5
	got := runAll(t, open(t, t.TempDir(), &trained), s)
	if got[0].Steps != 15 || got[0].Samples != 1500 {
		t.Errorf("%+v", got[0])
	}
	s.Drop = 20
	if _, err := open(t, t.TempDir(), &trained).Run(context.Background(), []Spec{s}); err == nil {
		t.Error("a training of no steps has no error")
	}
}

func TestDivergenceIsAResult(t *testing.T) {
	trained := 0
	s := small(t, 1, "")
	s.Job.Model.Optimizer.Rate, s.Job.Rows.Optimizer.Rate = 1e30, 1e30
	s.Job.Model.Optimizer.Kind, s.Job.Rows.Optimizer.Kind = "sgd", "sgd"
	real := s
	real.Job = real.Job.InMode(job.Sync)
	simulated := real
	simulated.Simulated = true
	simulated.Job.Cluster = job.PersiaCluster()
	for i, r := range runAll(t, open(t, t.TempDir(), &trained), s, real, simulated) {
		if r.Diverged == "" || r.AUC != 0 {
			t.Errorf("training %d: %+v", i, r)
		}
		if auc, logLoss := r.Scores(); auc != 0.5 || math.Abs(logLoss-0.6931) > 1e-4 {
			t.Errorf("training %d counts as AUC %v, log loss %v", i, auc, logLoss)
		}
	}
}

// Sync learns the same at every point of the box, and takes another time. A job that asks for evaluations has
// a curve, also when a second lab reads it.
func TestPointsOfTheBox(t *testing.T) {
	folder, trained := t.TempDir(), 0
	s := small(t, 1, "")
	s.Job = s.Job.InMode(job.Sync)
	s.Job.Cluster, s.Simulated = job.PersiaCluster(), true
	s.Job.Training.EvaluateEvery.Steps = 5
	first, second := s, s
	first.Box, second.Box = &BoxPoint{2, 0}, &BoxPoint{2, 1}
	lab := open(t, folder, &trained)
	results, err := lab.Run(context.Background(), []Spec{s, first, second})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		last := r.Curve[len(r.Curve)-1]
		if len(r.Curve) != 4 || r.AUC != results[0].AUC || last.AUC != r.AUC || last.Samples != 2000 ||
			i > 0 && r.StepSeconds == results[i-1].StepSeconds {
			t.Errorf("training %d: %+v", i, r)
		}
	}
	again, err := open(t, folder, &trained).Run(context.Background(), []Spec{second})
	if err != nil || trained != 3 || !reflect.DeepEqual(again[0].Curve, results[2].Curve) {
		t.Errorf("%d trainings, %v; read %+v", trained, err, again)
	}
}

func TestPredictionsOfRealDataAreKept(t *testing.T) {
	folder, trained := t.TempDir(), 0
	s := small(t, 1, "")
	s.Job.Data = report.AdultIncome().Data
	s.Job.Training.GlobalBatch = 4096
	results := runAll(t, open(t, folder, &trained), s)
	probabilities, labels, err := open(t, folder, &trained).predictions(&s)
	if err != nil || len(probabilities) != results[0].TestRows || len(labels) != len(probabilities) {
		t.Fatalf("%d predictions, %d labels, %v", len(probabilities), len(labels), err)
	}
	// 3,846 and 12,435 rows of the classes: the deviation of an AUC near 0.85 is about 0.003, and that of the
	// difference to another one trained on the same rows is less.
	other := s
	other.Job.Model.Optimizer.Rate /= 10
	lab := open(t, folder, &trained)
	runAll(t, lab, other)
	same, err := lab.RowDeviation([]Spec{s}, []Spec{s})
	if err != nil || same != 0 {
		t.Errorf("deviation %v, error %v", same, err)
	}
	if d, err := lab.RowDeviation([]Spec{s}, []Spec{other}); err != nil || d < 1e-5 || d > 0.005 {
		t.Errorf("deviation %v, error %v", d, err)
	}
	diverging := s
	diverging.Job.Model.Optimizer.Rate, diverging.Job.Model.Optimizer.Kind = 1e30, "sgd"
	if r := runAll(t, lab, diverging)[0]; r.Diverged == "" {
		t.Fatalf("%+v", r)
	}
	if d, err := lab.RowDeviation([]Spec{s}, []Spec{diverging}); err != nil || d < 1e-3 || d > 0.01 {
		t.Errorf("beside a guess: deviation %v, error %v", d, err)
	}
	later, err := Open(report.Options{Folder: t.TempDir(), Earlier: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	runAll(t, later, s)
	if again, _, err := later.predictions(&s); err != nil || !slices.Equal(again, probabilities) {
		t.Errorf("predictions were not taken over: %d of %d, error %v", len(again), len(probabilities), err)
	}
	if d, err := lab.RowDeviation([]Spec{small(t, 1, "")}, nil); err != nil || d != 0 {
		t.Errorf("deviation %v of generated data, error %v", d, err)
	}
}

func TestAFailureEndsTheOthers(t *testing.T) {
	trained := 0
	s := small(t, 1, "")
	s.Job.Data = job.Data{Kind: job.KindCSV, Path: "missing.csv", CSV: &job.Table{}}
	s.Name = "missing"
	_, err := open(t, t.TempDir(), &trained).Run(context.Background(), []Spec{s, small(t, 2, "")})
	if err == nil || !strings.HasPrefix(err.Error(), "missing: ") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := open(t, t.TempDir(), &trained).Run(ctx, []Spec{small(t, 1, "")}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v", err)
	}
}

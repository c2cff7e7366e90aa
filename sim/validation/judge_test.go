package validation

import (
	"math"
	"slices"
	"testing"
)

// judged returns a step of software s with some times in ms, on GPUs in servers of 8.
func judged(id, set string, gpus int, published, predicted float64) Judged {
	return Judged{Step: Step{ID: id, Software: "s", Set: set, GPUs: gpus, Servers: (gpus + 7) / 8,
		PerServer: 8, Batch: 1024, Compute: "fp32", StepMS: published}, Predicted: predicted,
		Low: predicted / 2, High: predicted * 2, Roofline: 1}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 || math.IsNaN(a) && math.IsNaN(b) }

// Scores are medians of factors, and null models know only what is published of other steps.
func TestRateCountsFactorsAndNullModels(t *testing.T) {
	all := []Judged{
		judged("a", Fit, 8, 10, 10), judged("b", Test, 16, 6, 7.5), judged("c", Test, 64, 4, 9),
	}
	s := Rate(all[1:], all)
	// Errors are 1.25 and 2.25; c is out of 4.5 to 18. One step is for fitting: 10 times its roofline.
	// Perfect scaling says 5 and 1.25 ms.
	want := Score{Steps: 2, Inside: 1, Error: (0.25 + 1.25) / 2, Width: 4, Roofline: (5. + 3) / 2,
		Scaled: (10./6 - 1 + 10./4 - 1) / 2, Scaling: (6./5 - 1 + 4/1.25 - 1) / 2}
	if !near(s.Error, want.Error) || !near(s.Width, want.Width) || !near(s.Roofline, want.Roofline) ||
		!near(s.Scaled, want.Scaled) || !near(s.Scaling, want.Scaling) || s.Inside != want.Inside ||
		s.Steps != want.Steps {
		t.Errorf("%+v, want %+v", s, want)
	}
	if s := Rate(all[:1], all); !math.IsNaN(s.Scaling) || !math.IsNaN(s.Scaled) {
		t.Errorf("the step on the fewest accelerators has null models of other steps: %+v", s)
	}
}

// A trend is from all GPUs of some servers to the next number of servers, and not within the rounding of what
// is published.
func TestTrendsAreOfNeighbours(t *testing.T) {
	all := []Judged{
		judged("4", Test, 4, 12, 12), judged("8", Fit, 8, 10, 10), judged("16", Test, 16, 12, 9),
		judged("32", Test, 32, 12.1, 8), judged("64", Test, 64, 8, 7),
	}
	list := Servers(all)
	if len(list) != 2 || list[0].From.ID != "8" || list[0].To.ID != "16" || list[0].Right() ||
		list[1].From.ID != "32" || list[1].To.ID != "64" || !list[1].Right() {
		t.Errorf("trends %+v", list)
	}
	half := judged("half", Test, 8, 6, 11)
	half.Compute = "half"
	list = Precision(append(all, half))
	if len(list) != 1 || list[0].From.ID != "8" || list[0].Right() || !near(list[0].Published, 0.6) {
		t.Errorf("trends %+v", list)
	}
}

// Every step has a price list of its own system's architecture, and its job is that of the row.
func TestEveryStepHasAJob(t *testing.T) {
	for _, s := range load(t) {
		j, err := s.Job(s.List())
		if err != nil {
			t.Error(err)
			continue
		}
		if (j.Hardware.System.Architecture == "roles") != (s.Mode != "") || j.Roles.Ranks != s.GPUs ||
			j.Training.GlobalBatch != s.Batch || j.Hardware.Accelerator.Name != s.Accelerator ||
			j.Hardware.Inside.Name != s.Inside || s.Network != "" && j.Hardware.Network.Name != s.Network ||
			j.Cluster.AcceleratorsPerServer != s.PerServer || string(j.Rows) != string(s.Rows) {
			t.Errorf("%s: %d GPUs, %s, %s, %s", s.ID, j.Roles.Ranks, j.Hardware.Accelerator.Name,
				j.Hardware.Inside.Name, j.Hardware.System.Name)
		}
	}
}

// A step of unseen software is predicted by prices of unknown software.
func TestUnseenSoftwareIsUnknown(t *testing.T) {
	for _, s := range load(t) {
		if unseen(s.Software) && s.List() != Unknown {
			t.Errorf("%s: predicted with the prices of %s", s.ID, s.List())
		}
	}
}

// What a person relies on: of the steps marked test, nine of ten are in their intervals, the median error is
// below that of every null model and below 35 %, and eight of ten signs of trends are right. Steps with roles
// take long, and are left to sim validate.
func TestStepsMarkedTestAreInTheirIntervals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	steps := slices.DeleteFunc(load(t), func(s Step) bool { return s.Mode != "" })
	all, err := Judge(t.Context(), steps, Options{Samples: 16})
	if err != nil {
		t.Fatal(err)
	}
	tests := slices.DeleteFunc(slices.Clone(all), func(j Judged) bool { return j.Set != Test })
	s := Rate(tests, all)
	t.Logf("%d steps: median error %.2f, %d inside, median width %.2f; null models %.2f, %.2f, %.2f", s.Steps,
		s.Error, s.Inside, s.Width, s.Roofline, s.Scaled, s.Scaling)
	if s.Error > 0.35 || 10*s.Inside < 9*s.Steps || s.Error >= min(s.Roofline, s.Scaled, s.Scaling) {
		t.Errorf("%+v", s)
	}
	for what, trends := range map[string][]Trend{"more servers": Servers(all), "half": Precision(all)} {
		right := 0
		for i := range trends {
			if trends[i].Right() {
				right++
			}
		}
		t.Logf("sign of %s: %d of %d", what, right, len(trends))
		if 10*right < 8*len(trends) {
			t.Errorf("sign of %s: %d of %d are right", what, right, len(trends))
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// planOf runs "sim plan" with --json.
func planOf(t *testing.T, args string) *planDocument {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append([]string{"plan", "--json"}, strings.Fields(args)...), &stdout, &stderr); code != 0 {
		t.Fatalf("sim plan %s: exit %d: %s", args, code, stderr.String())
	}
	var d planDocument
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// Two trainings a mode: sync has an AUC of 0.75 after 20,000 and 30,000 samples, hybrid after 30,000 and
// 40,000. One of async-ps never has it.
const ownCurve = `mode,seed,step,samples,seconds,auc,log_loss
sync,1,100,10000,1,0.70,0.6
sync,1,200,20000,2,0.76,0.6
sync,1,300,30000,3,0.77,0.6
hybrid,1,200,20000,1,0.74,0.6
hybrid,1,300,30000,2,0.75,0.6
sync,2,200,20000,2,0.74,0.6
sync,2,300,30000,3,0.75,0.6
hybrid,2,400,40000,1,0.78,0.6
async-ps,1,100,10000,1,0.76,0.6
async-ps,2,400,40000,1,0.74,0.6
`

// The plan for an AUC is the best of those for as many samples as a measured curve says each mode needs.
func TestPlanForAnAUCIsThatForTheSamplesOfItsCurve(t *testing.T) {
	file := ownFile(t, "curve.csv", ownCurve)
	const space = " --presets commodity-10g --most-gpus 8 --most-hosts 2 --samples 4"
	whole := planOf(t, "--target-auc 0.75 --curve "+file+space)
	best := math.Inf(1)
	for mode, samples := range map[string]int{"sync": 20_000, "hybrid": 30_000} { // order-free: the least
		d := planOf(t, fmt.Sprintf("--train %d --modes %s --global-batch 100%s", samples, mode, space))
		best = min(best, d.Front[0].Cost)
	}
	first := whole.Front[0]
	if math.Abs(first.Cost/best-1) > 1e-9 {
		t.Errorf("%s for $ %v; the best mode for its own samples costs $ %v", first.Name, first.Cost, best)
	}
	need := map[string]float64{"sync": 20_000, "hybrid": 30_000}[first.Mode]
	if cost := first.DollarsPerHour / 3600 * need / first.Throughput; math.Abs(first.Cost/cost-1) > 1e-9 {
		t.Errorf("$ %v for %v samples of %s at %v samples/s, want %v", first.Cost, need, first.Mode,
			first.Throughput, cost)
	}
	if !strings.Contains(whole.Curve, file) || !strings.Contains(whole.Curve, "over 2 trainings") ||
		slices.ContainsFunc(whole.Front, func(c clusterDocument) bool { return c.Mode == "async-ps" }) {
		t.Errorf("%s; %+v", whole.Curve, whole.Front)
	}
	for point, want := range []float64{1.5, 2, 1.5} {
		c, err := loadCurve(file, 0.75, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.modes([]string{"sync", "hybrid"}); err != nil {
			t.Fatal(err)
		}
		ofSync := []float64{1, 1.5}[point%2]
		if got := c.workAt("hybrid", point); got != want || c.workAt("sync", point) != ofSync {
			t.Errorf("point %d: %v of the samples, want %v", point, got, want)
		}
	}
}

// A curve that cannot answer says why in one line.
func TestCurvesThatCannotAnswer(t *testing.T) {
	file := ownFile(t, "curve.csv", ownCurve)
	for args, want := range map[string]string{
		"--target-auc 0.9 --curve " + file:                        "no mode comes to 0.9 in all trainings",
		"--target-auc 0.75":                                       "want both, the AUC and a measured curve",
		"--target-auc 75 --curve " + file:                         "--target-auc: 75; want above 0.5",
		"--target-auc 0.75 --train 1e9 --curve " + file:           "goes with neither --train nor",
		"--target-auc 0.75 --batch-per-gpu 9 --curve " + file:     "not with --batch-per-gpu",
		"--target-auc 0.75 --global-batch 99 --curve " + file:     "has no training with a batch of 99",
		"--target-auc 0.75 --modes local-sgd --curve " + file:     "no mode comes to 0.75",
		"--target-auc 0.75 --curve " + ownFile(t, "x.csv", "a,b"): "has no curves",
		"--target-auc 0.75 --curve nowhere.csv":                   "nowhere.csv: no such file",
	} {
		text := refusal(t, append([]string{"plan"}, strings.Fields(args)...)...)
		if line, _, _ := strings.Cut(text, "\n"); !strings.Contains(line, want) {
			t.Errorf("%s: %q; want %q", args, line, want)
		}
	}
}

// The result that an experiment has stored is a curve.
func TestStoredExperimentIsACurve(t *testing.T) {
	c, err := loadCurve("../../experiments/persia/timetoauc/quick.json", 0.765, 0)
	if err != nil {
		t.Fatal(err)
	}
	modes := c.measured()
	if !slices.Equal(modes, []string{"async-ps", "hybrid", "sync"}) || c.batch != 128 || len(c.notes) > 0 {
		t.Errorf("%v at %d, %q", modes, c.batch, c.notes)
	}
	// Its first run of sync has an AUC of 0.7375 after 14,080 samples, and 0.7572 at the end.
	if s, ok := c.trainings[0].reaches(0.7374); !ok || s != 14_080 {
		t.Errorf("%v samples", s)
	}
	if s, ok := c.trainings[0].reaches(0.7571); !ok || s != 80_000 {
		t.Errorf("%v samples", s)
	}
}

// A stored training that has not come to its target counts as one that missed. Of several networks the first
// is taken, and what is asked below the targets is known as far as these: both is said.
func TestStoredTrainingsThatMissed(t *testing.T) {
	const option = `{"mode": "%s", "curve": [{"step": 10, "samples": 1000, "auc": 0.6},
		{"step": 20, "samples": 2000, "auc": 0.7}], "runs": [{"auc": 0.76, "to_target": {"step": 10,
		"samples": 1000, "auc": 0.75}}, {"auc": %v}]}`
	network := func(name string, last float64) string {
		return fmt.Sprintf(`{"network": "%s", "options": [%s, %s]}`, name, fmt.Sprintf(option, "sync", last),
			fmt.Sprintf(option, "hybrid", 0.73))
	}
	file := ownFile(t, "stored.json",
		fmt.Sprintf(`{"data": {"target_auc": [0.75, 0.75], "networks": [%s, %s]}}`,
			network("small", 0.745), network("large", 0.8)))
	for target, want := range map[float64]string{
		0.74: "hybrid is left out: 1 of its 2 trainings", 0.75: "no mode comes to 0.75 in all trainings",
	} {
		c, err := loadCurve(file, target, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, notes, err := c.modes([]string{"sync", "hybrid"})
		if text := fmt.Sprint(notes, err); !strings.Contains(text, want) || len(c.trainings) != 4 {
			t.Errorf("%v of %d trainings: %s", target, len(c.trainings), text)
		}
		said := strings.Join(c.notes, "\n")
		if !strings.Contains(said, "2 networks; those of the first, small, are taken") ||
			(target < 0.75) != strings.Contains(said, "the samples for 0.74 are at most those") {
			t.Errorf("%v: %s", target, said)
		}
	}
	c, err := loadCurve(file, 0.74, 0)
	if err != nil {
		t.Fatal(err)
	}
	if samples, missed := c.needs("sync"); missed != 0 || !slices.Equal(samples, []float64{1000, 2000}) {
		t.Errorf("after %v samples, %d missed", samples, missed)
	}
}

// A job file is planned for as its model is.
func TestPlanOfAJobFile(t *testing.T) {
	const space = " --train 1e9 --presets dgx-h100 --most-gpus 16 --samples 2 --global-batch 65536"
	own := planOf(t, "--file "+ownFile(t, "job.yaml", ownJob)+space)
	as := planOf(t, "--model "+ownFile(t, "model.yaml", ownModel)+space)
	if a, b := own.Front[0], as.Front[0]; own.Model != "mine" || a.Name != b.Name ||
		math.Abs(a.Cost/b.Cost-1) > 0.002 {
		t.Errorf("%s for $ %v; as a model %s for $ %v", a.Name, a.Cost, b.Name, b.Cost)
	}
}

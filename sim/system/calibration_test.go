package system

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/quantity"
	"tandem/sim/param"
)

const calibrated = `name: mine
architecture: step-graph
base: hugectr
calibration:
  source: two steps
  date: 2026-11-28
  names: [nn-worker.launch-time, collectives.inside.all-reduce]
  ranges: [[2500, 5000, 10000], [0.9, 0.97, 1]]
  points:
    - [0, -1]
    - [-1, 0.5]
    - [0.2, 1]
`

// read loads a profile from text.
func read(t *testing.T, text string) (*Profile, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

// The worse end of a time is the high one: position −1 is 10 µs, 0.2 is 4.5 µs. The first point is the
// middle.
func TestCalibrationNarrowsRanges(t *testing.T) {
	p, err := read(t, calibrated)
	if err != nil {
		t.Fatal(err)
	}
	if q := p.NNWorker.LaunchTime; q.Low != 4500 || q.Mid != 5000 || q.High != 10_000 ||
		q.Kind != quantity.Calibrated || q.Source != "two steps" || q.Date != "2026-11-28" {
		t.Errorf("launch-time is %+v", q)
	}
	if q := p.Collectives.Inside.AllReduce; q.Low != 0.9 || q.Mid != 0.9 || q.High != 1 {
		t.Errorf("all-reduce is %+v", q)
	}
	base, err := LoadUncalibrated("hugectr")
	if err != nil {
		t.Fatal(err)
	}
	if p.EmbeddingKernels != base.EmbeddingKernels {
		t.Errorf("%+v is not calibrated, and differs from the base", p.EmbeddingKernels)
	}
	v := param.Collect("", p)
	e, err := v.Find("nn-worker.launch-time")
	if err != nil {
		t.Fatal(err)
	}
	if value, ok := p.Calibration.Value("nn-worker.launch-time", e, 2); !ok || value != 4500 {
		t.Errorf("point 2 has %v, %v", value, ok)
	}
	if err := v.Set("nn-worker.launch-time", "1us", "--set"); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Calibration.Value("nn-worker.launch-time", e, 2); ok {
		t.Error("a value that was set since is replaced by the calibration")
	}
}

func TestCalibrationOfAnotherRangeIsNotUsed(t *testing.T) {
	p, err := read(t, strings.Replace(calibrated, "[2500,", "[2600,", 1))
	if err != nil {
		t.Fatal(err)
	}
	if p.NNWorker.LaunchTime != load(t, "hugectr").NNWorker.LaunchTime {
		t.Errorf("launch-time is %+v", p.NNWorker.LaunchTime)
	}
	if want := "nn-worker.launch-time keeps its range of 2.5us to 10us, because it was calibrated from " +
		"2.6us to 10us"; p.Note != want {
		t.Errorf("note %q, want %q", p.Note, want)
	}
	if p.Collectives.Inside.AllReduce.Kind != quantity.Calibrated {
		t.Error("the other quantity is not calibrated")
	}
}

// A profile can be loaded as it is before its calibration, which it then does not have.
func TestUncalibratedProfiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(calibrated), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := LoadUncalibrated(file)
	if err != nil || p.Calibration != nil || p.Accuracy != nil {
		t.Errorf("%v, %+v, %+v", err, p.Calibration, p.Accuracy)
	}
}

// A range may have its middle at an end, or be one value.
func TestRangesMayTouch(t *testing.T) {
	for _, ok := range []string{"[0.9, 0.9, 1]", "[0.9, 1, 1]", "[1, 1, 1]", "[0, 0.97, 1]"} {
		if _, err := read(t, strings.Replace(calibrated, "[0.9, 0.97, 1]", ok, 1)); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}

func TestBadCalibrationsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"unknown": {"nn-worker.launch-time", "nn-worker.lunch-time",
			`the nearest is "nn-worker.launch-time"`},
		"twice": {"collectives.inside.all-reduce", "nn-worker.launch-time", "is there twice"},
		"ranges": {"[[2500, 5000, 10000], [0.9, 0.97, 1]]", "[[2500, 5000, 10000]]",
			"1 ranges for 2 names"},
		"range":   {"[0.9, 0.97, 1]", "[0.97, 0.9, 1]", "want 0 ≤ low ≤ mid ≤ high"},
		"lengths": {"[0, -1]", "[0]", "point 0 has 1 positions; want one for each of 2 names"},
		"position": {"[-1, 0.5]", "[-1, 1.5]",
			"point 1: collectives.inside.all-reduce = 1.5; want −1 to 1"},
		"no source": {"two steps", "", "no source"},
		"date":      {"2026-11-28", "today", `date = "today"`},
		"no points": {"", "", "0 points; want 1 to 4096"},
		"no names":  {"[nn-worker.launch-time, collectives.inside.all-reduce]", "[]", "no names"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(calibrated, test.old, test.new, 1)
			if name == "no points" {
				text = calibrated[:strings.Index(calibrated, "  points:")]
			}
			if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), "calibration: ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The section that Text writes is the calibration that was read.
func TestCalibrationIsReadAsItIsWritten(t *testing.T) {
	p, err := read(t, calibrated)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(calibrated, "calibration:")
	again, err := read(t, head+p.Calibration.Text())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.Calibration, again.Calibration; a.Source != b.Source || a.Date != b.Date ||
		!reflect.DeepEqual(a.Names, b.Names) || !reflect.DeepEqual(a.Ranges, b.Ranges) ||
		!reflect.DeepEqual(a.Points, b.Points) {
		t.Errorf("%+v\nwas written as %+v", a, b)
	}
}

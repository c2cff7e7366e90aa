package validation

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/sim/fit"
	"tandem/sim/param"
	"tandem/sim/predict"
	"tandem/sim/system"
)

var (
	long   = flag.Bool("long", false, "calibrate the built-in price lists again, which takes an hour")
	update = flag.Bool("update", false, "write the calibrations to the price lists")
	only   = flag.String("lists", "", "calibrate these price lists alone, with commas")
)

// calibrated are the price lists that are calibrated to steps marked fit.
var calibrated = []string{"hugectr", "pytorch-dlrm", "tensorflow-distributed-embeddings", "tensorflow-sok",
	"torchrec"}

// sigma is what published steps of several versions, pages and years deviate from any one price list by.
const sigma = 0.15

// fitRows returns the steps of a list that are marked fit.
func fitRows(t *testing.T, list string) []Step {
	t.Helper()
	return slices.DeleteFunc(load(t), func(s Step) bool { return s.Set != Fit || s.List() != list })
}

// calibrate fits the prices of a list to some steps.
func calibrate(t *testing.T, list string, rows []Step) *system.Calibration {
	t.Helper()
	var measured []fit.Measurement
	for i := range rows {
		measured = append(measured, fit.Measurement{Name: rows[i].ID, Job: uncalibratedJob(t, &rows[i], list),
			Seconds: rows[i].StepMS / 1000})
	}
	p, err := fit.Fit(t.Context(), measured, fit.Options{Sigma: sigma, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Steps {
		t.Logf("%s: %.2f ms published, %.2f before, %.2f after", s.Name, 1000*s.Measured, 1000*s.Before,
			1000*s.After)
	}
	p.Calibration.Source = fmt.Sprintf("%d published steps marked fit in sim/validation", len(rows))
	p.Calibration.Date = "2026"
	return p.Calibration
}

func uncalibratedJob(t *testing.T, s *Step, list string) *predict.Job {
	t.Helper()
	j, err := s.Job(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Hardware.Uncalibrate(); err != nil {
		t.Fatal(err)
	}
	return j
}

// errorsOf returns the logarithms of predicted ÷ published of some steps with a calibration of a list.
func errorsOf(t *testing.T, list string, c *system.Calibration, rows []Step) (errors []float64) {
	t.Helper()
	for i := range rows {
		j := uncalibratedJob(t, &rows[i], list)
		if err := j.Hardware.System.Calibrate(c); err != nil {
			t.Fatal(err)
		}
		p, err := predict.Run(t.Context(), j, predict.Options{Samples: 64, WithoutEnds: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e := math.Log(float64(rows[i].Batch) / p.Mid.Throughput / (rows[i].StepMS / 1000))
		t.Logf("%s with %s, unseen: %+.2f", rows[i].ID, list, e)
		errors = append(errors, e)
	}
	return errors
}

// The calibrations in the tree are those of the steps marked fit. Accuracy is from steps that a calibration
// has not seen: each list is calibrated with every other step and predicts the rest, and the list of unknown
// software has the calibrations of all software but one and predicts that one.
func TestCalibrations(t *testing.T) {
	if !*long {
		t.Skip("takes an hour; -long")
	}
	lists := calibrated
	if *only != "" {
		lists = strings.Split(*only, ",")
	}
	for _, list := range lists {
		if list == Unknown {
			continue
		}
		rows := fitRows(t, list)
		c := calibrate(t, list, rows)
		var halves [2][]Step
		for i, s := range rows {
			halves[i%2] = append(halves[i%2], s)
		}
		var errors []float64
		for k := range halves {
			errors = append(errors, errorsOf(t, list, calibrate(t, list, halves[k]), halves[1-k])...)
		}
		a := accuracyOf([][]float64{errors}, "predictions of every other step marked fit from the rest")
		check(t, list, c, a)
	}
	if *only == "" || slices.Contains(lists, Unknown) {
		unknown(t)
	}
}

// Two steps of a software, the first two marked fit on different numbers of accelerators or with different
// models, leave intervals that contain nine of ten steps marked test.
func TestTwoStepsCalibrate(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; -long")
	}
	var sizes, widths []float64
	inside := 0
	for _, list := range calibrated {
		rows := fitRows(t, list)
		two := rows[:1]
		for _, s := range rows[1:] {
			if s.GPUs != rows[0].GPUs || s.Model != rows[0].Model {
				two = append(two[:1:1], s)
				break
			}
		}
		if len(two) < 2 {
			two = rows[:2]
		}
		c := calibrate(t, list, two)
		of := slices.DeleteFunc(load(t), func(s Step) bool { return s.Set != Test || s.List() != list })
		for i := range of {
			j := uncalibratedJob(t, &of[i], list)
			if err := j.Hardware.System.Calibrate(c); err != nil {
				t.Fatal(err)
			}
			stored, err := system.Load(list)
			if err != nil {
				t.Fatal(err)
			}
			j.Hardware.System.Accuracy = stored.Accuracy
			p, err := predict.Run(t.Context(), j, predict.Options{Samples: 64, WithoutEnds: true, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			seconds := of[i].StepMS / 1000
			rate := float64(of[i].Batch) / seconds
			sizes = append(sizes, factor(math.Log(p.Mid.Throughput/rate)))
			widths = append(widths, p.Interval.Width())
			if p.Interval.Contains(rate) {
				inside++
			}
		}
		t.Logf("%s from %s and %s: so far median error %.2f, %d of %d inside, median width %.2f", list,
			two[0].ID, two[1].ID, predict.Median(sizes), inside, len(sizes), predict.Median(widths))
	}
	if predict.Median(sizes) > 0.5 || 10*inside < 9*len(sizes) {
		t.Errorf("median error %.2f, %d of %d inside", predict.Median(sizes), inside, len(sizes))
	}
}

// unknown makes the calibration of unknown software: points of all calibrations.
func unknown(t *testing.T) {
	var errors [][]float64
	for _, left := range calibrated {
		others := slices.DeleteFunc(slices.Clone(calibrated), func(list string) bool { return list == left })
		errors = append(errors, errorsOf(t, Unknown, mixture(t, others), fitRows(t, left)))
	}
	a := accuracyOf(errors, "predictions of each software from the calibrations of the others")
	check(t, Unknown, mixture(t, calibrated), a)
}

// mixture returns points of the calibrations of some lists, as many of each, as positions in the ranges of
// unknown software. A quantity that a list's calibration leaves out is drawn from the list's own range.
func mixture(t *testing.T, lists []string) *system.Calibration {
	const each = 24
	prior, err := system.LoadUncalibrated(Unknown)
	if err != nil {
		t.Fatal(err)
	}
	var unknown param.Vector
	for _, e := range param.Collect("", prior) {
		if !e.Known() && !strings.HasPrefix(e.Name, "loader.") {
			unknown = append(unknown, e)
		}
	}
	c := &system.Calibration{Source: "points of the calibrations of " + strings.Join(lists, ", "),
		Date: "2026"}
	for _, e := range unknown {
		low, mid, high := e.Span()
		c.Names, c.Ranges = append(c.Names, e.Name), append(c.Ranges, []float64{low, mid, high})
	}
	for _, list := range lists {
		own, err := system.LoadUncalibrated(list)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := system.Load(list)
		if err != nil {
			t.Fatal(err)
		}
		if stored.Calibration == nil {
			t.Fatalf("%s is not calibrated yet", list)
		}
		v := param.Collect("", own)
		sample := v.Sample(each, 1)
		for k := range each {
			var point []float64
			for _, e := range unknown {
				i := slices.IndexFunc(v, func(x param.Entry) bool { return x.Name == e.Name })
				value := v[i].At(sample[k][i])
				calibratedEntry, err := param.Collect("", stored).Find(e.Name)
				if err != nil {
					t.Fatal(err)
				}
				if x, ok := stored.Calibration.Value(e.Name, calibratedEntry, k); ok {
					value = x
				}
				point = append(point, math.Round(e.Position(value)*1e4)/1e4)
			}
			c.Points = append(c.Points, point)
		}
	}
	return c
}

// accuracyOf returns what errors of unseen steps say: the spread of the means of groups is common, the rest
// is of single settings. One group has no spread, so half of its variance counts as common.
func accuracyOf(groups [][]float64, source string) *system.Accuracy {
	a := &system.Accuracy{Source: source, Date: "2026"}
	var sizes []float64
	var means, rest float64
	for _, errors := range groups {
		mean := 0.0
		for _, e := range errors {
			mean += e / float64(len(errors))
			sizes = append(sizes, math.Exp(math.Abs(e))-1)
		}
		means += mean * mean / float64(len(groups))
		for _, e := range errors {
			rest += (e - mean) * (e - mean)
		}
	}
	a.Steps = len(sizes)
	variance := rest / float64(a.Steps)
	if len(groups) == 1 {
		means = (variance + means) / 2
		variance = means
	}
	round := func(x float64) float64 { return math.Round(x*1000) / 1000 }
	a.Common, a.Single = round(math.Sqrt(means)), round(math.Sqrt(variance))
	a.Median = round(predict.Median(sizes))
	return a
}

// check compares a calibration with that of the tree, or writes it there.
func check(t *testing.T, list string, c *system.Calibration, a *system.Accuracy) {
	t.Helper()
	path := filepath.Join("../system/profiles", list+".yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "# What steps marked fit say: go test ./sim/validation -run Calibrations -long -update\n"
	before, _, _ := strings.Cut(string(text), mark)
	want := before + mark + c.Text() + a.Text()
	switch {
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	case string(text) != want:
		t.Errorf("%s is not what the steps say; run with -update", path)
	}
}

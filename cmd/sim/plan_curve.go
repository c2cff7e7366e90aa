package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// curve is what measured trainings say of the samples that a mode needs for an AUC.
type curve struct {
	file      string
	target    float64
	batch     int // samples of a step
	trainings []measuredRun
	notes     []string
	fewest    float64 // median samples of the mode that needs the fewest
}

// measuredRun is one measured training. Points are in the order of its samples. Evaluations before the first
// of them had an AUC below a bound, and were not kept.
type measuredRun struct {
	mode   string
	batch  int
	below  float64 // 0: all are kept
	points []curvePoint
}

type curvePoint struct{ samples, auc float64 }

// reaches returns the samples at the first evaluation that has an AUC, or false.
func (t *measuredRun) reaches(auc float64) (samples float64, ok bool) {
	i := slices.IndexFunc(t.points, func(p curvePoint) bool { return p.auc >= auc })
	if i < 0 {
		return 0, false
	}
	return t.points[i].samples, true
}

// loadCurve reads the trainings of a file: curve.csv of results of cmd/train, or what the experiments
// time-to-auc and cost-to-auc have stored. Batch is that of the trainings to take; 0: the smallest.
func loadCurve(file string, target float64, batch int) (*curve, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	read := readCurves
	if strings.HasSuffix(file, ".json") {
		read = readStoredCurves
	}
	all, notes, err := read(text)
	if err != nil || len(all) == 0 {
		return nil, cli.UsageError("it takes curve.csv of cmd/train --evaluate-every, or the JSON file that "+
			"experiments time-to-auc stores", "--curve: %s has no curves of AUC%s", file, because(err))
	}
	batches := make([]int, len(all))
	for i := range all {
		batches[i] = all[i].batch
	}
	slices.Sort(batches)
	batches = slices.Compact(batches)
	if batch == 0 {
		batch = batches[0]
	}
	c := &curve{file: file, target: target, batch: batch, notes: notes}
	bound := 0.0
	for _, t := range all {
		if t.batch == batch {
			c.trainings = append(c.trainings, t)
			bound = max(bound, t.below)
		}
	}
	if target < bound {
		c.notes = append(c.notes, fmt.Sprintf("%s has of a training when it came to its own target, an AUC "+
			"of up to %.4f, and its end: the samples for %v are at most those for that target",
			file, bound, target))
	}
	if len(c.trainings) == 0 {
		return nil, cli.UsageError("an AUC after some samples is that of a batch; leave --global-batch out, "+
			"or measure a curve at it", "--curve: %s has no training with a batch of %d; it has %v", file,
			batch, batches)
	}
	return c, nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// readCurves reads the trainings of a curve.csv.
func readCurves(text []byte) (list []measuredRun, notes []string, err error) {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, nil, err
	}
	columns := make([]int, 0, 5)
	for _, name := range []string{"mode", "seed", "step", "samples", "auc"} {
		at := slices.Index(lines[0], name)
		if at < 0 {
			return nil, nil, fmt.Errorf("no column %q", name)
		}
		columns = append(columns, at)
	}
	places := map[string]int{}
	for n, line := range lines[1:] {
		var numbers [3]float64
		for i, at := range columns[2:] {
			if numbers[i], err = strconv.ParseFloat(line[at], 64); err != nil || !(numbers[i] > 0) {
				return nil, nil, fmt.Errorf("line %d: %s is %q", n+2, lines[0][at], line[at])
			}
		}
		step, samples, auc := numbers[0], numbers[1], numbers[2]
		key := line[columns[0]] + " " + line[columns[1]]
		at, known := places[key]
		if !known {
			at = len(list)
			places[key] = at
			list = append(list, measuredRun{mode: line[columns[0]], batch: int(samples/step + 0.5)})
		}
		list[at].points = append(list[at].points, curvePoint{samples, auc})
	}
	return list, nil, nil
}

// storedCurves are the parts of a stored time-to-auc that say how its trainings went.
type storedCurves struct {
	Data struct {
		Targets  []float64 `json:"target_auc"` // by seed
		Networks []struct {
			Network string
			Options []struct {
				Mode  string
				Curve []storedPoint // the mean of the runs
				Runs  []struct {
					AUC      float64
					ToTarget *storedPoint `json:"to_target"`
				}
			}
		}
	}
}

type storedPoint struct {
	Step, Samples int
	AUC           float64
}

// readStoredCurves reads the trainings of the first network of a stored time-to-auc, whose accuracy is the
// target of all. Each has its end and, if it came to the target, when.
func readStoredCurves(text []byte) (list []measuredRun, notes []string, err error) {
	var stored storedCurves
	if err := json.Unmarshal(text, &stored); err != nil || len(stored.Data.Networks) == 0 {
		return nil, nil, err
	}
	network := stored.Data.Networks[0]
	if n := len(stored.Data.Networks); n > 1 {
		notes = append(notes, fmt.Sprintf("--curve has trainings of %d networks; those of the first, %s, "+
			"are taken", n, network.Network))
	}
	for _, option := range network.Options {
		if len(option.Curve) == 0 || option.Curve[0].Step == 0 {
			continue // all runs diverged
		}
		last := option.Curve[len(option.Curve)-1]
		for seed, run := range option.Runs {
			t := measuredRun{mode: option.Mode, batch: last.Samples / last.Step}
			if seed < len(stored.Data.Targets) {
				t.below = stored.Data.Targets[seed]
			}
			if at := run.ToTarget; at != nil {
				t.points = append(t.points, curvePoint{float64(at.Samples), at.AUC})
			}
			t.points = append(t.points, curvePoint{float64(last.Samples), run.AUC})
			list = append(list, t)
		}
	}
	return list, notes, nil
}

// needs returns the samples after which the trainings of a mode have the target, ascending, and how many do
// not come to it.
func (c *curve) needs(mode string) (samples []float64, missed int) {
	for i := range c.trainings {
		if t := &c.trainings[i]; t.mode == mode {
			if n, ok := t.reaches(c.target); ok {
				samples = append(samples, n)
			} else {
				missed++
			}
		}
	}
	slices.Sort(samples)
	return samples, missed
}

// modes returns those of some modes whose trainings all come to the target, and a note about every other one.
func (c *curve) modes(asked []string) (able, notes []string, err error) {
	for _, mode := range asked {
		samples, missed := c.needs(mode)
		switch {
		case len(samples)+missed == 0:
			notes = append(notes, fmt.Sprintf("%s is left out: %s has no training in it", mode, c.file))
		case missed > 0:
			notes = append(notes, fmt.Sprintf("%s is left out: %d of its %d trainings in %s do not come to "+
				"an AUC of %v", mode, missed, len(samples)+missed, c.file, c.target))
		default:
			able = append(able, mode)
			if m := lowerMedian(samples); c.fewest == 0 || m < c.fewest {
				c.fewest = m
			}
		}
	}
	if len(able) > 0 {
		return able, notes, nil
	}
	best, mode := 0.0, ""
	for _, t := range c.trainings {
		for _, p := range t.points {
			if p.auc > best {
				best, mode = p.auc, t.mode
			}
		}
	}
	return nil, nil, &cli.Error{Err: fmt.Errorf("--target-auc: no mode comes to %v in all trainings of %s; "+
		"the best point, of %s, has %.4f", c.target, c.file, mode, best),
		Hint: "a lower --target-auc, other --modes, or a curve of a longer training"}
}

// measured returns the modes of the curve that have roles, sorted.
func (c *curve) measured() (modes []string) {
	for _, t := range c.trainings {
		if t.mode != job.Sequential && slices.Contains(job.Modes(), t.mode) {
			modes = append(modes, t.mode)
		}
	}
	slices.Sort(modes)
	return slices.Compact(modes)
}

// lowerMedian returns the median of ascending numbers, the lower of two.
func lowerMedian(ascending []float64) float64 { return ascending[(len(ascending)-1)/2] }

// work returns how many samples a mode needs for one that the mode with the fewest needs, at the median.
func (c *curve) work(mode string) float64 {
	if c == nil {
		return 1
	}
	samples, _ := c.needs(mode)
	return lowerMedian(samples) / c.fewest
}

// workAt is work at a point of what is not known: each point has one of the trainings of the mode.
func (c *curve) workAt(mode string, point int) float64 {
	if c == nil {
		return 1
	}
	samples, _ := c.needs(mode)
	return samples[point%len(samples)] / c.fewest
}

// text says what the curve is, and how many samples each mode needs.
func (c *curve) text(modes []string) string {
	var parts []string
	for _, mode := range modes {
		s, _ := c.needs(mode)
		parts = append(parts, fmt.Sprintf("%s after at most %s samples (%s to %s over %d trainings)", mode,
			amount(lowerMedian(s)), amount(s[0]), amount(s[len(s)-1]), len(s)))
	}
	return fmt.Sprintf("Curve: %s, measured at %d samples a step, has an AUC of %v in %s. The plan holds as "+
		"far as your data and network train like those of the curve.", c.file, c.batch, c.target,
		strings.Join(parts, ", "))
}

// setCurve reads the curve of --target-auc, and makes the plan one of as many samples as it needs.
func (d *planned) setCurve(given func(string) bool) error {
	switch {
	case !given("target-auc") && !given("curve"):
		return nil
	case !given("target-auc") || !given("curve"):
		return cli.UsageError("cmd/train --evaluate-every 100step writes curve.csv into its results; "+
			"experiments time-to-auc stores a JSON file", "--target-auc and --curve: want both, the AUC "+
			"and a measured curve that says after how many samples it is reached")
	case !(d.targetAUC > 0.5 && d.targetAUC < 1):
		return cli.UsageError("0.5 is a guess", "--target-auc: %v; want above 0.5 and below 1", d.targetAUC)
	case given("train") || given("throughput"):
		return cli.UsageError("the curve says how many samples are trained",
			"--target-auc goes with neither --train nor --throughput")
	case given("batch-per-gpu"):
		return cli.UsageError("an AUC after some samples is that of a batch of all GPUs",
			"--target-auc goes with --global-batch, not with --batch-per-gpu")
	}
	var err error
	if d.curve, err = loadCurve(d.curveFile, d.targetAUC, d.globalBatch); err != nil {
		return err
	}
	if !given("modes") {
		d.modes = d.curve.measured()
	}
	if d.modes, d.notes, err = d.curve.modes(d.modes); err != nil {
		return err
	}
	d.notes = append(d.notes, d.curve.notes...)
	d.globalBatch, d.train = d.curve.batch, d.curve.fewest
	return nil
}

// curveText returns the text of the curve; "" without one.
func (d *planned) curveText() string {
	if d.curve == nil {
		return ""
	}
	seen := map[string]bool{}
	var modes []string
	for _, o := range d.front {
		if mode := o.job.Training.Mode; !seen[mode] {
			seen[mode] = true
			modes = append(modes, mode)
		}
	}
	slices.SortFunc(modes, func(a, b string) int { return cmp.Compare(d.curve.work(a), d.curve.work(b)) })
	return d.curve.text(modes)
}

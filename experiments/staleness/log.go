package staleness

import (
	"strconv"

	"tandem/algo/histogram"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// header returns the columns of staleness.csv, which has a line per training.
func header() []string {
	names := []string{"data", "alpha", "seed", "mode", "merge", "tau", "auc", "log_loss_nats"}
	for _, kind := range []string{"own", "cross", "inflight"} {
		names = append(names, kind+"_mean_steps", kind+"_p99_steps", kind+"_max_steps")
	}
	return append(names, "steps", "samples", "rows", "wall_s")
}

// line returns one training in these columns.
func line(w report.DataSet, a variant, seed uint64, shown *train.Result) []string {
	alpha, tau := "", ""
	if w.Alpha > 0 {
		alpha = report.Number(w.Alpha)
	}
	if a.Tau != nil {
		tau = strconv.Itoa(*a.Tau)
	}
	line := []string{w.Name, alpha, strconv.FormatUint(seed, 10), a.Mode, a.Merge, tau,
		report.Number(shown.AUC), report.Number(shown.LogLoss)}
	kinds := []*histogram.Histogram{&shown.Staleness.Own, &shown.Staleness.Cross, &shown.Staleness.Inflight}
	for _, h := range kinds {
		line = append(line, report.Number(h.Mean()), strconv.Itoa(h.Quantile(0.99)), strconv.Itoa(h.Max()))
	}
	return append(line, strconv.Itoa(shown.Steps), strconv.Itoa(shown.Samples), strconv.Itoa(shown.Rows),
		strconv.FormatFloat(shown.Wall.Seconds(), 'f', 3, 64))
}

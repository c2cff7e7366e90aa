package staleness

import (
	"encoding/csv"
	"os"
	"strconv"

	"tandem/algo/metric"
	"tandem/runtime/train"
)

// runLog is staleness.csv: a line per training, written when it is done, so
// that a run that is stopped keeps what it has.
type runLog struct {
	file *os.File
	csv  *csv.Writer
}

func newRunLog(path string) (*runLog, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &runLog{file, csv.NewWriter(file)}
	header := []string{"data", "alpha", "seed", "mode", "merge", "tau", "auc", "log_loss_nats"}
	for _, kind := range []string{"own", "cross", "inflight"} {
		header = append(header, kind+"_mean_steps", kind+"_p99_steps", kind+"_max_steps")
	}
	return l, l.write(append(header, "steps", "samples", "rows", "wall_s"))
}

// add writes one training.
func (l *runLog) add(w world, a arm, seed uint64, shown *train.Result) error {
	alpha, tau := "", ""
	if w.Alpha > 0 {
		alpha = number(w.Alpha)
	}
	if a.Tau != nil {
		tau = strconv.Itoa(*a.Tau)
	}
	line := []string{w.Name, alpha, strconv.FormatUint(seed, 10), a.Mode, a.Merge, tau, number(shown.AUC), number(shown.LogLoss)}
	for _, h := range []*metric.Histogram{&shown.Staleness.Own, &shown.Staleness.Cross, &shown.Staleness.Inflight} {
		line = append(line, number(h.Mean()), strconv.Itoa(h.Quantile(0.99)), strconv.Itoa(h.Max()))
	}
	return l.write(append(line, strconv.Itoa(shown.Steps), strconv.Itoa(shown.Samples), strconv.Itoa(shown.Rows),
		strconv.FormatFloat(shown.Wall.Seconds(), 'f', 3, 64)))
}

func (l *runLog) write(line []string) error {
	if err := l.csv.Write(line); err != nil {
		return err
	}
	l.csv.Flush()
	return l.csv.Error()
}

func (l *runLog) close() error { return l.file.Close() }

// number writes a float64 so that reading it gives the same bits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

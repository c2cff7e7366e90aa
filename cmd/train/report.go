package main

import (
	"encoding/json"
	"fmt"
	"io"

	"tandem/algo/metric"
	"tandem/cmd/face"
	"tandem/cmd/internal/jobfile"
	"tandem/datasets"
	"tandem/runtime/train"
)

// report is what the program prints, and the object of --json.
type report struct {
	Data        string  `json:"data"`
	TrainRows   int     `json:"train_rows"`
	TestRows    int     `json:"test_rows"`
	DroppedRows int     `json:"dropped_rows"`
	Model       string  `json:"model"`
	Engine      string  `json:"engine"`
	Seed        uint64  `json:"seed"`
	WallSeconds float64 `json:"wall_s"`
	Runs        []row   `json:"runs"`
	Baselines   []row   `json:"baselines"`
	Simulated   []guess `json:"simulated"`

	job jobfile.Job
}

// row is one trained model.
type row struct {
	Mode             string                  `json:"mode"`
	AUC              float64                 `json:"auc"`
	LogLoss          float64                 `json:"log_loss"`
	Samples          int                     `json:"samples"`
	SamplesPerSecond float64                 `json:"samples_per_s"`
	Steps            int                     `json:"steps"`
	Ranks            int                     `json:"ranks"`
	Staleness        metric.HistogramSummary `json:"staleness"`       // own
	StalenessCross   metric.HistogramSummary `json:"staleness_cross"` // per other rank
}

// engineName says what computes the dense network.
const engineName = "built-in kernels, portable Go (gonum blas32)"

func newReport(j jobfile.Job, data *datasets.Dataset) *report {
	return &report{
		Data: data.Name, TrainRows: data.Train.Samples, TestRows: data.Test.Samples, DroppedRows: data.DroppedRows,
		Model: j.Training.Model.Kind, Engine: engineName, Seed: j.Training.Seed, Baselines: []row{}, job: j,
	}
}

func (r *report) add(name string, result *train.Result, baseline bool) {
	line := row{
		Mode: name, AUC: result.AUC, LogLoss: result.LogLoss, Samples: result.Samples,
		SamplesPerSecond: float64(result.Samples) / result.Wall.Seconds(), Steps: result.Steps, Ranks: result.Training.Ranks,
		Staleness: result.Staleness.Own.Summary(), StalenessCross: result.Staleness.Cross.Summary(),
	}
	if baseline {
		r.Baselines = append(r.Baselines, line)
		return
	}
	r.Runs = append(r.Runs, line)
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) writeText(w io.Writer) error {
	t := r.job.Training
	fmt.Fprintf(w, "%s: %d training rows, %d test rows", r.Data, r.TrainRows, r.TestRows)
	if r.DroppedRows > 0 {
		fmt.Fprintf(w, ", %d malformed rows dropped", r.DroppedRows)
	}
	fmt.Fprintf(w, "\n%s on %s\n", r.Model, r.Engine)
	fmt.Fprintf(w, "%d ranks, %d embedding workers, %d embedding PSs; global batch %d samples, %d epochs, seed %d; hybrid: τ = %d\n\n",
		t.Ranks, t.EmbeddingWorkers, t.ParameterServers, t.GlobalBatch, t.Epochs, t.Seed, t.EffectiveStaleness())
	table := face.Table{
		Header: []string{"mode", "AUC", "log loss (nats)", "samples/s", "own staleness (batches)", "cross staleness (batches)"}, Words: 1,
	}
	for _, line := range append(r.Runs, r.Baselines...) {
		table.Rows = append(table.Rows, []string{
			line.Mode, fmt.Sprintf("%.4f", line.AUC), fmt.Sprintf("%.4f", line.LogLoss), fmt.Sprintf("%.0f", line.SamplesPerSecond),
			staleness(line.Staleness), staleness(line.StalenessCross),
		})
	}
	if err := table.WriteText(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "Staleness is measured at every read of an embedding PS: mean, and the largest seen.")
	return r.writeSimulated(w)
}

// staleness formats a histogram; a mode without roles has none.
func staleness(s metric.HistogramSummary) string {
	if s.Count == 0 {
		return "–"
	}
	return fmt.Sprintf("mean %.2f, max %d", s.Mean, s.Max)
}

package capacity

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/table"
	"tandem/experiments/internal/paper"
	"tandem/internal/cli"
	"tandem/sim/model"
	"tandem/sim/predict"
)

// data are all results of the experiment.
type data struct {
	*paper.Results
	Fits     []fit           `json:"fits"`
	Controls []controlResult `json:"controls"`
	LookUps  *curve          `json:"look_ups,omitempty"` // nil: there was no memory
}

// settings are everything that is fixed before the first prediction.
type settings struct {
	*paper.Plan `yaml:",inline"`
	LookUps     *curvePlan `yaml:"look-ups"`
}

// fit says whether 100 T parameters fit a number of PS hosts.
type fit struct {
	Precision string  `json:"precision"`
	Dim       int     `json:"dim"` // values of a row
	Hosts     int     `json:"ps_hosts"`
	Rows      float64 `json:"rows"`
	RowBytes  float64 `json:"row_bytes"` // values, optimizer state and the overhead of a row
	Needed    float64 `json:"needed_bytes"`
	There     float64 `json:"there_bytes"`
	// OverheadMost is the largest overhead of a row that would fit, in bytes; negative if the values alone do
	// not.
	OverheadMost float64 `json:"overhead_most_bytes"`
	Refusal      string  `json:"refusal,omitempty"` // of the simulator; empty: it accepts the job
}

// fits asks the simulator whether 100 T fits: in half and in single precision, and on a third of the hosts.
func fits(ctx context.Context) ([]fit, error) {
	var list []fit
	for _, c := range []struct {
		rows  model.Format
		hosts int
	}{{model.Float16, 30}, {model.Float32, 30}, {model.Float16, 10}} {
		choice := paper.Choice{Preset: cluster, Model: largest().model, Mode: job.Hybrid, GPUs: gpus,
			Rows: string(c.rows), Set: map[string]string{"embedding-ps.count": fmt.Sprint(c.hosts)}}
		j, err := choice.Job()
		if err != nil {
			return nil, err
		}
		w := &j.Workload
		there := float64(j.Hardware.EmbeddingPSs.Host.Memory.Mid) * float64(c.hosts)
		f := fit{
			Precision: string(c.rows), Dim: w.RowDim, Hosts: c.hosts, Rows: w.Rows, There: there,
			RowBytes:     float64(w.RowBytes + w.RowState + table.Overhead),
			OverheadMost: math.Floor(there/w.Rows) - float64(w.RowBytes+w.RowState),
		}
		f.Needed = f.Rows * f.RowBytes
		_, err = predict.Run(ctx, j, predict.Options{Steps: 2})
		switch {
		case predict.DoesNotFit(err):
			f.Refusal = err.Error()
		case err != nil:
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

const tera = 1e12

// fitTable has the arithmetic of every fit.
func fitTable(fits []fit) cli.Table {
	t := cli.Table{
		Caption: "Do 100 T parameters fit the PS hosts? (spare: bytes of overhead a row that fit)",
		Header: []string{"rows", "result", "values", "hosts", "T rows", "B/row", "need TB", "have TB",
			"spare"},
		Words: 2,
	}
	for i := range fits {
		f := &fits[i]
		outcome := "accepts"
		if f.Refusal != "" {
			outcome = "refuses"
		}
		t.Rows = append(t.Rows, []string{f.Precision, outcome, fmt.Sprint(f.Dim), fmt.Sprint(f.Hosts),
			fmt.Sprintf("%.3g", f.Rows/tera), fmt.Sprint(f.RowBytes), fmt.Sprintf("%.0f", f.Needed/tera),
			fmt.Sprintf("%.0f", f.There/tera), fmt.Sprint(f.OverheadMost)})
	}
	return t
}

// fitFindings says what fits.
func fitFindings(fits []fit) []string {
	var sentences []string
	for i := range fits {
		f := &fits[i]
		outcome := "fit"
		if f.Refusal != "" {
			outcome = "do not fit"
		}
		sentences = append(sentences, fmt.Sprintf("100 T parameters in %s %s %d PS hosts: %.3g T rows of %g "+
			"bytes are %.0f TB, and the hosts have %.0f TB.", f.Precision, outcome, f.Hosts, f.Rows/tera,
			f.RowBytes, f.Needed/tera, f.There/tera))
	}
	return sentences
}

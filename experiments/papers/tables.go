package papers

import (
	"fmt"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/model"
)

// interval returns the interval of a comparison; without one, its ends are the middle.
func interval(c paper.Comparison) metric.Interval {
	if c.Low == 0 {
		return metric.Interval{Estimate: c.Middle, Low: c.Middle, High: c.Middle}
	}
	return metric.Interval{Estimate: c.Middle, Low: c.Low, High: c.High}
}

// models compares the paper's table of data sets and models with the models that are simulated.
func models(_ *maker, e *Exhibit) error {
	t := cli.Table{Words: 1, Caption: "Records and days in the text of Persia's tutorials; parameters quoted",
		Header: []string{"data set", "records", "days", "sparse, paper", "sparse, ours", "dense, paper",
			"dense, ours"}}
	for _, x := range []struct {
		name, model, records, days string
		sparse, dense              float64
	}{
		{"Taobao-Ad", "taobao", "26 M", "8", 29e6, 12e6}, {"Avazu-Ad", "avazu", "32 M", "11", 134e6, 12e6},
		{"Criteo-Ad", "criteo", "44 M", "24", 540e6, 12e6},
		{"Kwai-Video", "kwai-video", "3 B", "7", 2e12, 34e6},
		{"Criteo-Syn1", "criteo-syn-6t", "–", "–", 6.25e12, 12e6},
		{"Criteo-Syn2", "criteo-syn-12t", "–", "–", 12.5e12, 12e6},
		{"Criteo-Syn3", "criteo-syn-25t", "–", "–", 25e12, 12e6},
		{"Criteo-Syn4", "criteo-syn-50t", "–", "–", 50e12, 12e6},
		{"Criteo-Syn5", "criteo-syn-100t", "–", "–", 100e12, 12e6},
	} {
		ours, err := model.Load(x.model)
		if err != nil {
			return err
		}
		sparse := 0.0
		for _, table := range ours.Tables() {
			sparse += table.Rows * float64(table.Dim)
		}
		t.Add(x.name, x.records, x.days, size(x.sparse), size(sparse), size(x.dense),
			size(float64(ours.Network().Parameters())))
	}
	e.Tables = append(e.Tables, t)
	e.Says = "The simulated models have the parameters of the paper's; where rows, slots or layers are not " +
		"published, they are ranges with that total."
	e.Notes = append(e.Notes, "Ours: the built-in models of the simulator, at the middle of what is "+
		"unknown. No run is needed.")
	return nil
}

// size returns a number of parameters for people.
func size(v float64) string {
	switch {
	case v >= 1e12:
		return fmt.Sprintf("%.4g T", v/1e12)
	case v >= 1e9:
		return fmt.Sprintf("%.3g B", v/1e9)
	}
	return fmt.Sprintf("%.3g M", v/1e6)
}

// neoModels has what is known of Neo's models, and of their throughput on 128 GPUs.
func neoModels(m *maker, e *Exhibit) error {
	rate, err := m.quantity("neo", "throughput-neo-12t-128")
	if err != nil {
		return err
	}
	t := cli.Table{Words: 1, Caption: "Neo's models on 128 A100s: quoted by secondary sources; in " +
		"brackets, recalled without a source, which decides nothing",
		Header: []string{"model", "parameters", "MFLOP a sample", "M samples/s", "ours"}}
	t.Add("A", "793 B", "638", "(1.2)", "–")
	t.Add("F", "12 T", "5", "1.7", report.Three(rate.Estimate)+" ("+report.Range(rate.Interval)+")")
	t.Add("I", "332 B", "60", "(3.4)", "–")
	e.Tables = append(e.Tables, t)
	e.Says = "Of three models, one can be predicted: tables, ids and layers of A and I are not published " +
		"in any text that could be had."
	e.Notes = append(e.Notes, "Missing: the figure of scaling. Its points could not be had for any model, "+
		"and on fewer than 128 GPUs a part of model F lies on SSDs in the simulator, so a curve of ours "+
		"would show these.", m.madeBy("neo"))
	return nil
}

package papers

import (
	"fmt"

	"tandem/experiments/internal/paper"
	"tandem/internal/cli"
)

// Methods is what a reviewer asks first.
type Methods struct {
	Rules []Rule
	Runs  cli.Table // the results behind the page
}

// Rule is an answer.
type Rule struct{ Asks, Says string }

// methods returns the answers, and the runs behind the page with the hashes of their inputs.
func (m *maker) methods() (Methods, error) {
	t := cli.Table{Words: 5, Caption: "The results behind this page; go run ./experiments repeat RUN " +
		"repeats one",
		Header: []string{"experiment", "version", "begun", "run", "inputs: SHA-256", "inputs", "ranges"}}
	for _, name := range Experiments() {
		from, ok := m.found[name]
		if !ok {
			continue
		}
		hash, inputs, ranges := "–", "–", "–"
		if predicted(name) {
			var r paper.Results
			if err := m.data(name, &r); err != nil {
				return Methods{}, err
			}
			guessed := 0
			for _, in := range r.Inputs.List {
				if in.Low != in.High {
					guessed++
				}
			}
			hash = r.Inputs.Hash[:12]
			inputs, ranges = fmt.Sprint(len(r.Inputs.List)), fmt.Sprint(guessed)
		}
		t.Add(name, version(from), from.Started, from.Run, hash, inputs, ranges)
	}
	return Methods{rules(), t}, nil
}

// predicted reports whether an experiment freezes its inputs before it predicts.
func predicted(name string) bool {
	return name == "scalability" || name == "kwai" || name == "capacity" || name == "neo"
}

func rules() []Rule {
	return []Rule{
		{"What is simulated?", "Every cluster. Roles, messages and queues are those of the program that " +
			"trains, in virtual time; work is priced by what is known of devices, wires and system " +
			"software. So every throughput here is a prediction."},
		{"What is trained?", "Every AUC: real gradients, under the order of events that the simulated " +
			"cluster has, so staleness is an outcome. Data are generated to resemble the public logs, and " +
			"frozen by a hash before any mode is compared. Networks are smaller than the paper's."},
		{"What is combined?", "AUC against time alone: samples of trainings and predicted samples a second."},
		{"What is assumed?", "What is not published is a range with a source. A band of a throughput is " +
			"from the 1st to the 99th percentile over the box of these ranges; it does not contain the " +
			"error of the simulator itself. A band of an AUC is 95 % over seeds."},
		{"What was frozen before which comparison?", "Ranges are hashed before the first prediction, and a " +
			"test fails where the tree has other inputs than a stored result. No input is from a figure " +
			"that it is compared with, but for the bars that the first table marks. Learning rates are " +
			"chosen on rows that no comparison uses."},
		{"Where are the paper's values from?", "Printed: in its text. Digitised: read off pixels, with the " +
			"error of the reading. Quoted: by a secondary source. Recalled: from memory; it decides " +
			"nothing."},
		{"What is a verdict?", "Reproduced: our interval meets the value, is narrow, and excludes no " +
			"effect; a bound must be kept by the whole interval. Shape only: the interval is on the right " +
			"side of no effect, but misses the value or is too wide. Not reproduced: it contradicts the " +
			"value. Inconclusive: too wide to say."},
		{"What would a cluster add?", "The prices of work that the bands come from: the wire between GPUs, " +
			"the rates of PSs, the layers of models that are not published; and runs with the paper's own " +
			"rows."},
	}
}

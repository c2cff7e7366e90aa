package serving

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
)

// report returns the results as tables and sentences.
func (p *plan) report(results []*result) *report.Report {
	r := &report.Report{Findings: p.findings(results), Notes: []string{
		fmt.Sprintf("Each measurement takes %v; medians of %d rounds, in which the servers take turns.",
			p.Time.Round(time.Second), p.Rounds),
		"The clients run on the cores of the server, so both share them. All servers answered the first " +
			"request of a size alike, within 10⁻⁵."}}
	for _, one := range results {
		if one.Peer != "" {
			r.Notes[0] = fmt.Sprintf("The peer: %s, one process for each core. %s", one.Peer, r.Notes[0])
			break
		}
	}
	for _, m := range p.Models {
		for _, rows := range p.Rows {
			r.Tables = append(r.Tables, resultTable(results, m.name(), rows))
		}
	}
	return r
}

// resultTable returns a line for each way and number of clients, with requests of a number of rows to a
// model.
func resultTable(results []*result, model string, rows int) cli.Table {
	size := "one row"
	if rows > 1 {
		size = fmt.Sprintf("%d rows", rows)
	}
	t := cli.Table{
		Caption: fmt.Sprintf("%s, requests of %s: samples/s, and latency in ms (medians of rounds)", model,
			size),
		Header: []string{"server", "clients", "samples/s", "p50", "p99"}, Words: 1,
	}
	for _, r := range results {
		if r.Model == model && r.Rows == rows {
			t.Add(r.Way, strconv.Itoa(r.Clients), report.Thousands(int(report.Median(r.SamplesPerSecond))),
				fmt.Sprintf("%.2f", report.Median(r.P50)), fmt.Sprintf("%.2f", report.Median(r.P99)))
		}
	}
	return t
}

// ratios returns the ratios of samples/s of the first way to those of another, the medians of rounds, over
// all models and rows that were measured with a number of clients.
func ratios(results []*result, of, to string, clients int) (all []float64) {
	for _, r := range results {
		for _, other := range results {
			if r.Way == of && r.Clients == clients && other.Way == to &&
				other.Clients == clients && other.Model == r.Model && other.Rows == r.Rows {
				all = append(all, report.Median(turns.Ratios(r.SamplesPerSecond, other.SamplesPerSecond)))
			}
		}
	}
	return all
}

// findings returns the ratios of speeds.
func (p *plan) findings(results []*result) (list []string) {
	all := ways(p.Models[0])
	add := func(what, to string, clients int) {
		unit := "clients"
		if clients == 1 {
			unit = "client"
		}
		r := ratios(results, all[0].name, to, clients)
		list = append(list, fmt.Sprintf("%s with %d %s: %.2f to %.2f (medians of rounds, by model and size "+
			"of requests).", what, clients, unit, slices.Min(r), slices.Max(r)))
	}
	for _, clients := range p.Clients {
		add("Samples/s of cmd/serve ÷ those of onnxruntime, both with JSON,", all[len(all)-1].name, clients)
	}
	if p.Models[0].Kind != model.Torch {
		add("Samples/s of requests computed together ÷ each by itself", all[1].name, slices.Max(p.Clients))
		return list
	}
	for _, clients := range p.Clients {
		add("Samples/s of a module by its ONNX ÷ by --run-module", all[1].name, clients)
	}
	return list
}

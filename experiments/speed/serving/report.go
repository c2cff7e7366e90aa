package serving

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results as tables and sentences.
func (p *plan) report(results []*result, about string) *report.Report {
	r := &report.Report{Findings: findings(results), Settings: p, Data: results, Notes: []string{
		fmt.Sprintf("The peer: %s, one process for each core. Each measurement takes %v; medians of %d "+
			"rounds, in which the servers take turns.", about, p.Time.Round(time.Second), p.Rounds),
		"The clients run on the cores of the server, so both share them. All servers answered the first " +
			"request of a size alike, within 10⁻⁵."}}
	for i := 0; i < len(results); {
		first := i
		for i < len(results) && results[i].Model == results[first].Model {
			i++
		}
		for _, rows := range p.Rows {
			r.Tables = append(r.Tables, resultTable(results[first:i], rows))
		}
	}
	return r
}

// resultTable returns a line for each way and number of clients, with requests of a number of rows.
func resultTable(results []*result, rows int) cli.Table {
	size := "one row"
	if rows > 1 {
		size = fmt.Sprintf("%d rows", rows)
	}
	t := cli.Table{
		Caption: fmt.Sprintf("%s, requests of %s: samples/s, and latency in ms (medians of rounds)",
			results[0].Model, size),
		Header: []string{"server", "clients", "samples/s", "p50", "p99"}, Words: 1,
	}
	for _, r := range results {
		if r.Rows == rows {
			t.Rows = append(t.Rows, []string{r.Way, strconv.Itoa(r.Clients),
				report.Thousands(int(report.Median(r.SamplesPerSecond))),
				fmt.Sprintf("%.2f", report.Median(r.P50)), fmt.Sprintf("%.2f", report.Median(r.P99))})
		}
	}
	return t
}

// find returns the result of another way with the model, the rows and the clients of a result.
func (r *result) find(results []*result, way string) *result {
	for _, other := range results {
		if other.Model == r.Model && other.Rows == r.Rows && other.Clients == r.Clients && other.Way == way {
			return other
		}
	}
	return nil
}

// ratios returns the ratios of samples/s of a way to those of another, the medians of rounds, over all
// models and rows that were measured with a number of clients.
func ratios(results []*result, way, to string, clients int) (all []float64) {
	for _, r := range results {
		if r.Way != way || r.Clients != clients {
			continue
		}
		other := r.find(results, to)
		rounds := make([]float64, len(r.SamplesPerSecond))
		for i := range rounds {
			rounds[i] = r.SamplesPerSecond[i] / other.SamplesPerSecond[i]
		}
		all = append(all, report.Median(rounds))
	}
	return all
}

// findings returns the ratios of speeds.
func findings(results []*result) (list []string) {
	all := ways()
	mine, alone, peer := all[0].name, all[1].name, all[len(all)-1].name
	text := func(what, to string, clients int) string {
		r := ratios(results, mine, to, clients)
		return fmt.Sprintf("%s with %s: %.2f to %.2f (medians of rounds, by model and size of requests).",
			what, clientsText(clients), slices.Min(r), slices.Max(r))
	}
	most := 0
	for _, r := range results {
		if r.Way == mine && r.Rows == results[0].Rows && r.Model == results[0].Model {
			list = append(list, text("Samples/s of cmd/serve ÷ those of onnxruntime, both with JSON,", peer,
				r.Clients))
			most = max(most, r.Clients)
		}
	}
	return append(list, text("Samples/s of requests computed together ÷ each by itself", alone, most))
}

func clientsText(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

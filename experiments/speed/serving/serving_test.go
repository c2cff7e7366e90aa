package serving

import (
	"strings"
	"testing"
	"time"

	"tandem/experiments/internal/report"
)

// Every way answers all requests of a short run, and alike.
func TestAllWays(t *testing.T) {
	if testing.Short() {
		t.Skip("trains, and starts servers")
	}
	python, err := new(report.Python).With(t.Context(), peerModules)
	if err != nil {
		t.Skip(err)
	}
	o := report.Options{Quick: true, Seed: 1, Folder: t.TempDir()}
	p, _ := newPlan(o, false)
	p.Time, p.Clients = 50*time.Millisecond, []int{1, 3}
	results, err := p.measure(t.Context(), python, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 5*2*2 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if len(r.SamplesPerSecond) != 1 || r.SamplesPerSecond[0] <= 0 || r.P50[0] <= 0 ||
			r.P99[0] < r.P50[0] {
			t.Errorf("%+v", r)
		}
	}
	out := p.report(results)
	if !strings.HasPrefix(out.Notes[0], "The peer: aiohttp ") {
		t.Errorf("note %q", out.Notes[0])
	}
	if len(out.Tables) != 2 || len(out.Tables[0].Rows) != 5*2 {
		t.Errorf("tables %v", out.Tables)
	}
}

// Ratios are of the same model, rows and clients, by round.
func TestFindings(t *testing.T) {
	var results []*result
	for i, w := range ways(served{}) {
		for _, clients := range []int{1, 8} {
			for _, rows := range []int{1, 100} {
				speed := float64(rows*clients*100) / float64(i+1)
				results = append(results, &result{Model: "m", Way: w.name, Rows: rows, Clients: clients,
					SamplesPerSecond: []float64{speed, 2 * speed, speed / 2}})
			}
		}
	}
	p := plan{Clients: []int{1, 8}, Models: make([]served, 1)}
	got := strings.Join(p.findings(results), "\n")
	for _, want := range []string{"with 1 client: 5.00 to 5.00", "with 8 clients: 5.00 to 5.00",
		"each by itself with 8 clients: 2.00 to 2.00"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A quantile is the smallest latency that is enough for the share of requests.
func TestQuantile(t *testing.T) {
	m := &measured{}
	for i := range 200 {
		m.latency = append(m.latency, time.Duration(i+1)*time.Millisecond)
	}
	if p50, p99 := m.quantile(0.5), m.quantile(0.99); p50 != 100 || p99 != 198 {
		t.Errorf("p50 %v ms, p99 %v ms", p50, p99)
	}
}

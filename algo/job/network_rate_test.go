package job_test

import (
	"maps"
	"testing"

	"tandem/algo/job"
)

// A network rate of a job file replaces the rates that its preset sets of single hosts; one that the file
// itself sets stays.
func TestNetworkRateReplacesThePresetsRates(t *testing.T) {
	const data = "data: {kind: synthetic, synthetic: {train-rows: 8, test-rows: 8, " +
		"columns: [{cardinality: 9}]}}\n"
	j, err := job.Parse([]byte(data+`cluster:
  preset: zionex-ps
  network-rate: 40Gbps
  set: {loaders.network: 10Gbps}`), "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"server.network-cards": "1", "loaders.network": "10Gbps"}
	if c := j.Cluster; c.NetworkRate != 5e9 || !maps.Equal(c.Set, want) {
		t.Errorf("rate %v, set %v; want 40Gbps and %v", c.NetworkRate, c.Set, want)
	}
}

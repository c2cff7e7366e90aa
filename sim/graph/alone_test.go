package graph

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/unit"
)

// A large vector takes 2 (n − 1) ÷ n of its bytes at the rate that an all-reduce reaches inside a server,
// and half of that for a reduce-scatter or an all-gather. Of 1 GiB, latencies are below 3 %.
func TestLargeCollectivesAreBoundByBandwidth(t *testing.T) {
	j := example(t, dgxA100(t), "mlperf-dlrm", 8, 65_536)
	const bytes = unit.Bytes(1 << 30)
	inside := &j.System.Collectives.Inside
	rate := float64(j.Cluster.Topology.Groups[0].Inside.Rate)
	for name, want := range map[string]float64{
		AllReduce:     2 * 7. / 8 * float64(bytes) / (rate * inside.AllReduce.Mid),
		ReduceScatter: 7. / 8 * float64(bytes) / (rate * inside.AllReduce.Mid),
		AllGather:     7. / 8 * float64(bytes) / (rate * inside.AllReduce.Mid),
		AllToAll:      7. / 8 * float64(bytes) / (rate * inside.AllToAll.Mid),
	} {
		took, err := j.Cluster.CollectiveTime(j.System, 8, name, bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := took.Seconds(); math.Abs(got/want-1) > 0.03 || got < want {
			t.Errorf("%s takes %.4g ms, want %.4g and latencies", name, 1e3*got, 1e3*want)
		}
	}
	if _, err := j.Cluster.CollectiveTime(j.System, 8, "broadcast", bytes); err == nil ||
		!strings.Contains(err.Error(), `collective "broadcast"; want all-reduce, `) {
		t.Errorf("error %v", err)
	}
}

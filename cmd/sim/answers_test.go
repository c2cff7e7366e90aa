package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/system"
)

// throughputOf runs the command with --json and returns the throughput of its only prediction.
func throughputOf(t *testing.T, args string) float64 {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append(strings.Fields(args), "--json"), &stdout, &stderr); code != 0 {
		t.Fatalf("sim %s: exit %d: %s", args, code, stderr.String())
	}
	var d struct {
		Throughput float64 `json:"throughput_samples_per_s"`
		Runs       []struct {
			Throughput float64 `json:"throughput_samples_per_s"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Runs {
		d.Throughput = r.Throughput
	}
	return d.Throughput
}

// The table and "sim run" are one answer, on every preset and for a job whose embedding workers bind, where
// steps come in bursts. Run takes the mean over seeds.
func TestTableAndRunAgree(t *testing.T) {
	const most = 0.03
	jobs := map[string][]string{"--file ../train/jobs/criteo-shaped.yaml --gpus 8": {"hybrid", "async-ps"},
		"--preset persia-paper --gpus 4": {"sync", "hybrid", "async-average"}}
	for _, name := range cost.Clusters.Names() {
		if name == "persia-paper" {
			continue // in all modes, above
		}
		modes := []string{"hybrid"}
		if roles, err := presetHasRoles(name); err != nil {
			t.Fatal(err)
		} else if !roles {
			modes = []string{"sync"}
		}
		if name == "zionex-128" {
			name += " --model mlperf-dlrm" // its own needs all 128 GPUs
		}
		jobs[fmt.Sprintf("--preset %s --gpus 4", name)] = modes
	}
	for args, modes := range jobs {
		for _, mode := range modes {
			args := fmt.Sprintf("%s --mode %s --samples 1", args, mode)
			table, single := throughputOf(t, args), throughputOf(t, "run "+args+" --seeds 2")
			if d := table/single - 1; math.Abs(d) > most {
				t.Errorf("%s: the table has %.0f samples/s, run %.0f", args, table, single)
			}
		}
	}
}

// presetHasRoles reports whether the system of a cluster runs roles.
func presetHasRoles(name string) (bool, error) {
	var s system.Profile
	c, err := job.LoadCluster(name)
	if err == nil {
		err = system.Systems.Load(c.System, &s)
	}
	return s.Architecture == system.Roles, err
}

// --network is the rate of one card: a preset whose cards all have one rate predicts the same with that rate
// given again, and a server of 8 cards has 8 times the rate.
func TestOwnNetworkRateChangesNothing(t *testing.T) {
	same := 0
	for _, name := range cost.Clusters.Names() {
		c, err := job.LoadCluster(name)
		if err != nil {
			t.Fatal(err)
		}
		h, _, err := cost.Load(&c, "")
		if err != nil {
			t.Fatal(err)
		}
		rates := map[unit.BytesPerSec]bool{}
		for _, host := range []*device.HostProfile{&h.Server, &h.EmbeddingWorkers.Host, &h.EmbeddingPSs.Host,
			&h.Loaders.Host} {
			if host.Network.Given() {
				rates[host.Network.Mid/unit.BytesPerSec(max(1, host.NetworkCards.Mid))] = true
			}
		}
		if len(rates) > 1 {
			continue
		}
		same++
		for card := range rates {
			args := fmt.Sprintf("--preset %s --mode sync --gpus 16 --samples 2 --seeds 1 --steps 8", name)
			if name == "zionex-128" {
				args += " --model mlperf-dlrm" // its own needs all 128 GPUs
			}
			own := runJSON(t, args)
			again := runJSON(t, fmt.Sprintf("%s --network %.0fGbps", args, 8e-9*float64(card)))
			for _, key := range []string{"throughput_samples_per_s", "throughput_interval", "step_time_ms",
				"bottlenecks", "sensitivities"} {
				if a, b := fmt.Sprint(own[key]), fmt.Sprint(again[key]); a != b {
					t.Errorf("%s at %v a card: %s is %s, without --network %s", name, card, key, b, a)
				}
			}
		}
	}
	if same < 5 {
		t.Errorf("%d presets have cards of one rate; want most", same)
	}
}

// The rate of the command line replaces those that a preset gives to single hosts, but none that --set gives.
func TestNetworkRateAndSet(t *testing.T) {
	texts := func(args string) map[string]string {
		names := map[string]string{}
		for _, x := range runJSON(t, "--samples 1 --gpus 8 "+args)["parameters"].([]any) {
			p := x.(map[string]any)
			names[p["name"].(string)] = p["text"].(string)
		}
		return names
	}
	for args, want := range map[string]map[string]string{
		"--preset dgx-h100 --network 200Gbps": {"server.network": "200GB/s"},
		"--preset zionex-ps --network 40Gbps": {"server.network": "5GB/s", "loaders.network": "5GB/s"},
		"--preset zionex-ps --network 40Gbps --set server.network=80Gbps": {"server.network": "10GB/s",
			"embedding-ps.network": "5GB/s"},
	} {
		got := texts(args)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %s is %q, want %q", args, name, got[name], text)
			}
		}
	}
}

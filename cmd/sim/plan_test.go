package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// planText runs "sim plan".
func planText(args string) (out, messages string, code int) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"plan"}, strings.Fields(args)...), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// Costs are prices and times of the clusters, each faster one is a tenth faster and not cheaper, all are fast
// enough, and at every point at most one is the cheapest. The report has at most 80 columns.
func TestPlanOfSomeClusters(t *testing.T) {
	const args = "--presets commodity-10g,persia-gcp --most-gpus 8 --most-hosts 2 --samples 4 " +
		"--train 1e9 --within 3h"
	out, messages, code := planText(args + " --json")
	var d planDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("%v: %s", err, messages)
	}
	if len(d.Front) < 2 || d.Simulated >= d.Clusters/2 || math.Abs(d.Need-1e9/3/3600) > 1e-6 {
		t.Fatalf("%s", out)
	}
	sum := 0.0
	for i, c := range d.Front {
		if math.Abs(c.Cost-c.DollarsPerHour/3600*1e9/c.Throughput) > 1e-9*c.Cost || c.Throughput < d.Need {
			t.Errorf("%+v", c)
		}
		if i > 0 && (c.Throughput < 1.09*d.Front[i-1].Throughput || c.Cost < d.Front[i-1].Cost) {
			t.Errorf("%+v beside %+v", c, d.Front[i-1])
		}
		sum += c.Cheapest
	}
	if sum > 1+1e-9 || d.Front[0].Cheapest <= 0 {
		t.Errorf("the cheapest at %v of the points", sum)
	}
	out, messages, code = planText(args)
	if code != 0 {
		t.Fatal(messages)
	}
	checkColumns(t, args, out)
}

// What a plan without an answer calls enough is enough.
func TestWhatAPlanCallsEnough(t *testing.T) {
	const args = "--presets commodity-10g --most-gpus 4 --most-hosts 1 --modes sync --samples 2 "
	const large = "--presets persia-gcp --modes sync --samples 2 --model criteo-syn-100t --most-gpus 8 " +
		"--most-hosts "
	const enoughHosts = "; --most-hosts 32 is enough for the rows"
	if _, messages, _ := planText(large + "4"); !strings.Contains(messages, enoughHosts) {
		t.Error(messages)
	}
	for hosts, want := range map[string]int{"24": 1, "32": 0} {
		if _, messages, code := planText(large + hosts + " --train 1e9"); code != want {
			t.Errorf("%s hosts: exit %d: %s", hosts, code, messages)
		}
	}
	for _, x := range []struct{ ask, flag string }{{"--within 10min", "--within "},
		{"--train 1e9 --budget 1", "--budget "}, {"--throughput 1e7", "--throughput "}} {
		_, messages, code := planText(args + x.ask)
		_, rest, found := strings.Cut(messages, "; "+x.flag)
		if code == 0 || !found {
			t.Errorf("%s: exit %d: %s", x.ask, code, messages)
			continue
		}
		enough := x.flag + strings.Fields(rest)[0]
		if strings.Contains(x.ask, "--train") {
			enough = "--train 1e9 " + enough
		}
		if _, messages, code := planText(args + enough); code != 0 {
			t.Errorf("%s is not enough: %s", enough, messages)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// said runs sim and returns what it wrote.
func said(t *testing.T, args ...string) (out, messages string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, &stdout, &stderr); code != 0 {
		t.Fatalf("sim %q: exit %d: %s", args, code, stderr.String())
	}
	return strings.Join(strings.Fields(stdout.String()), " "), stderr.String()
}

// Hosts that a preset has for larger tables are in its price, which a note says where they stay empty.
func TestNoteOfEmptyHosts(t *testing.T) {
	const note = "chooses the numbers of hosts"
	for args, want := range map[string]bool{
		"--preset persia-gcp --model criteo --gpus 1":                               true,
		"--preset persia-gcp --model criteo --gpus 1 --set embedding-ps.count=1":    false,
		"--preset persia-gcp --model criteo-syn-100t --gpus 1 --row-precision fp16": false,
		"--preset dgx-h100 --model criteo --gpus 8":                                 false,
	} {
		_, messages := said(t, append([]string{"run", "--samples", "1"}, strings.Fields(args)...)...)
		if strings.Contains(messages, note) != want {
			t.Errorf("%s: %s", args, messages)
		}
	}
}

// Rows count alike in all systems. A note says where Persia's own would not fit: 6.25·10¹² rows of 98 bytes
// and more are 612 TB and more beside 200 TB of values, and its PSs have 353 TB.
func TestNoteOfRowsThatPersiaCouldNotHold(t *testing.T) {
	const note = "would not fit: at least 27.08TB on a PS host of 11776GB"
	for args, want := range map[string]bool{
		"--preset persia-gcp --gpus 1":                 true,
		"--preset persia-gcp --gpus 1 --system tandem": false,
		"--preset persia-gcp --gpus 1 --model criteo":  false,
	} {
		_, messages := said(t, append([]string{"run", "--samples", "1"}, strings.Fields(args)...)...)
		if strings.Contains(messages, note) != want {
			t.Errorf("%s: %s", args, messages)
		}
	}
}

// What differs and has no price is named: a network is as cheap as another. Flags that a title does not have
// anyway stand behind it.
func TestComparisonsSayWhatHasNoPrice(t *testing.T) {
	const compared, swept = "the price of what differs is not known", "is not known, and not in it"
	for _, c := range []struct {
		words    []string
		sentence string
		want     bool
	}{
		{[]string{"compare", "dgx-h100 --network 100Gbps", "dgx-h100"}, compared, true},
		{[]string{"compare", "dgx-h100 --slow nn-worker/0=2", "dgx-h100"}, compared, false},
		{[]string{"compare", "dgx-h100 --slow nn-worker/0=2", "dgx-h100"}, "a step; --slow nn-worker/0=2.",
			true},
		{[]string{"compare", "dgx-h100", "dgx-a100"}, compared, false},
		{[]string{"sweep", "--preset", "dgx-h100", "--over", "network=100,400Gbps"}, swept, true},
		{[]string{"sweep", "--preset", "dgx-h100", "--over", "gpus=8,16"}, swept, false},
	} {
		out, _ := said(t, append(c.words, "--samples", "2")...)
		if strings.Contains(out, c.sentence) != c.want {
			t.Errorf("%q: %s", c.words, out)
		}
	}
}

// Reports of one prediction have at most 80 columns, but for commands.
func TestPredictionFits80Columns(t *testing.T) {
	for _, args := range []string{"--preset dgx-h100 --model criteo", "--preset persia-gcp --gpus 8"} {
		checkColumns(t, args, runText(t, args+" --samples 2"))
	}
}

// A plan says of its clusters what sim run says of them at the same points.
func TestPlanSaysWhatRunSays(t *testing.T) {
	const same = "--model criteo --samples 16 --seeds 1 --json"
	d := planOf(t, "--presets dgx-h100 --most-gpus 8 --samples 16")
	out, _ := said(t, strings.Fields("run --preset dgx-h100 --gpus 8 "+same)...)
	var r singleDocument
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if got, want := d.Front[0].Throughput, *r.Throughput; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%v samples/s, and by sim run %v", got, want)
	}
}

// At the share of the price that goodput names, samples of machines that are taken away cost what they cost
// on machines that are not.
func TestSpotPaysBelowWhatGoodputSays(t *testing.T) {
	for _, cluster := range []string{"dgx-h100", "commodity-10g --gpus 8"} { // GPUs alone, and other hosts
		args := "--preset " + cluster + " --samples 1 --trainings 40 --length 2d "
		steady, taken := goodputOf(t, args), goodputOf(t, args+"--preempted-every 6h")
		if steady.SpotPays != nil || taken.SpotPays == nil || *taken.SpotPays <= 0.3 ||
			*taken.SpotPays >= 1 {
			t.Fatalf("pays below %v; on steady machines %v", taken.SpotPays, steady.SpotPays)
		}
		share := fmt.Sprint(*taken.SpotPays)
		spot := goodputOf(t, args+"--preempted-every 6h --spot "+share)
		if got, want := *spot.DollarsPerGiga, *steady.DollarsPerGiga; math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s: $ %v for 10⁹ samples at %s of the price, on steady machines %v", cluster, got,
				share, want)
		}
	}
}

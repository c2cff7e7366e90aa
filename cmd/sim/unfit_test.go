package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Points at which tables of 20 TB do not fit are said beside the interval that leaves them out, and a plan
// finds clusters that are more than proportionally faster because their GPUs have more of the tables.
func TestPointsThatDoNotFitAreSaid(t *testing.T) {
	exported, _, code := simText("presets export mlperf-dcnv2")
	if code != 0 {
		t.Fatal(code)
	}
	file := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(file, []byte(exported+"parameters: 5e12\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, wants := range map[string][]string{
		"run --preset dgx-a100 --gpus 128 --samples 16 --seeds 1 --model " + file: {
			" of these points, which are not in it, the job does not fit"},
		"plan --presets dgx-a100,dgx-h100 --most-gpus 256 --train 1e11 --within 168h --samples 16 --model " +
			file: {" % the job does not fit it", "dgx-a100: 192 A100-SXM4-80GB", "dgx-h100: 192 H100-SXM5"},
	} {
		out, said, code := simText(args)
		text := strings.Join(strings.Fields(out), " ")
		for _, want := range wants {
			if code != 0 || !strings.Contains(text, want) {
				t.Errorf("%s: exit %d, no %q in\n%s%s", args, code, want, out, said)
			}
		}
	}
}

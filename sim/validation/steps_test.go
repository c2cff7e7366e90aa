package validation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// frozen is the SHA-256 of the list and of all its models as they were made, without a look at predictions.
// It changes only if a source turns out to have been read wrongly; the commit says which.
const frozen = "cc303bc19cb31910e7d7c2e7745824f6f2d21575c94c593f32f766865c627d5f"

func TestCorpusIsFrozen(t *testing.T) {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if hash := hex.EncodeToString(h.Sum(nil)); hash != frozen {
		t.Errorf("hash = %s, want %s: the list or a model has changed", hash, frozen)
	}
}

func load(t *testing.T) []Step {
	t.Helper()
	steps, err := Steps()
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestCorpusIsLargeEnough(t *testing.T) {
	steps := load(t)
	distinct := func(of func(Step) string) int {
		var values []string
		for _, s := range steps {
			values = append(values, of(s))
		}
		slices.Sort(values)
		return len(slices.Compact(values))
	}
	software := distinct(func(s Step) string { return s.Software })
	accelerators := distinct(func(s Step) string { return s.Accelerator })
	if len(steps) < 60 || software < 6 || accelerators < 4 {
		t.Errorf("%d steps, %d systems, %d accelerators; want at least 60, 6, 4", len(steps), software,
			accelerators)
	}
}

// Every software but the unseen ones has at least two rows to fit, and all have at least two to test.
func TestSetsAreBalanced(t *testing.T) {
	sets, known := map[string]map[string]int{}, 0
	total := map[string]int{}
	for _, s := range load(t) {
		if sets[s.Software] == nil {
			sets[s.Software] = map[string]int{}
		}
		sets[s.Software][s.Set]++
		total[s.Set]++
		if s.Reason == Known {
			known++
		}
	}
	for software, n := range sets {
		if n[Test] < 2 || unseen(software) != (n[Fit] == 0) || n[Fit] == 1 {
			t.Errorf("%s: %d fit and %d test", software, n[Fit], n[Test])
		}
	}
	if known != 14 || total[Test] < total[Fit] || total[Test] > 2*total[Fit] {
		t.Errorf("%d known, %d fit and %d test; want 14, and 1 to 2 test for each fit", known, total[Fit],
			total[Test])
	}
}

func TestFaultsOfTheListAreNamed(t *testing.T) {
	text, err := files.ReadFile("steps.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"id,source", "source,id", "the first line"},
		{"de-tiny-8", "de-tiny-1", "line 3 (de-tiny-1): id: there are two"},
		{"de-tiny-1,https", "de-tiny-1,http", "source = "},
		{"A100-SXM4-80GB,1,1,8", "A100-SXM4-80GB,0,1,8", "gpus = "},
		{"A100-SXM4-80GB,1,1,8", "A100-SXM4-80GB,9,1,8", "servers = 1"},
		{"A100-SXM4-80GB,1,1,8", "A100-SXM4-81GB,1,1,8", "accelerator: unknown profile"},
		{"dgx-a100,nvlink3", "dgx-a101,nvlink3", "host: unknown"},
		{"dgx-a100,nvlink3", "dgx-a100,nvlink9", "inside: unknown"},
		{"8,dgx-a100,", "8,dgx-a101,", "preset: "},
		{"nvlink3,,,65536", "nvlink3,infiniband-hdr,,65536", "network = "},
		{"nvlink3,,,65536,tf32", "nvlink3,,,65536,tf33", "precisions.compute"},
		{"synthetic-tiny,A100", "synthetic-teeny,A100", "model: unknown"},
		{"5.537,ms,5.537", "5.537,s,5.537", "unit = "},
		{"5.537,ms,5.537", "5.538,ms,5.537", "step_ms = 5.537; want 5.538"},
		{"4550000,samples/s,14.4", "4550000,samples/s,14.41", "step_ms = 14.41; want 14.4,"},
		{"2407,ms/1000 steps,2.407", "2407,ms/999 steps,2.407", "step_ms = 2.407; want 2.409"},
		{"24.43,fit,known", "24.43,best,known", "set = "},
		{"24.43,fit,known", "24.43,test,known", "the rule says fit, known"},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if changed == string(text) {
			t.Fatalf("%q is not in the list", c.old)
		}
		if _, err := parse([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
}

package mutate

import (
	"os"
	"path/filepath"
	"strings"
)

// An Area is a part of the code outside the core, from whose packages mutants are drawn together: each place
// has the same chance, so large packages have more of them.
type Area struct {
	Name    string
	Folders []string // of the packages, from the root of the module
	Count   int      // of mutants in a draw
	Users   []Target // run if the tests of the package itself pass
}

// Targets are the tests that run for a mutant in a folder of the area, in this order: the short ones of its
// package, if it has some, all of them, and those of packages that use it. Root is the root of the module.
func (a Area) Targets(root, folder string) []Target {
	own := ownTargets(root, folder)
	for _, user := range a.Users {
		if user.Folder != folder {
			own = append(own, user)
		}
	}
	return own
}

// Areas are the parts outside the core.
func Areas() []Area {
	return []Area{
		{"transport", []string{"runtime/grpcnet", "runtime/identity", "runtime/member", "runtime/ring",
			"runtime/transport", "runtime/wire"}, 18,
			[]Target{short("runtime/transport"), short("runtime/process")}},
		{"checkpoint", []string{"runtime/checkpoint", "runtime/checkpoint/arrow",
			"runtime/checkpoint/bucket", "runtime/checkpoint/safetensors", "runtime/redo"}, 16,
			[]Target{short("runtime/checkpoint")}},
		{"export", []string{"runtime/export", "runtime/inference", "runtime/onnx"}, 14,
			[]Target{short("cmd/serve")}},
		{"datasets", []string{"datasets", "datasets/cache", "datasets/census", "datasets/infer",
			"datasets/internal/decode", "datasets/internal/input", "datasets/parquet", "datasets/synth"}, 18,
			[]Target{short("datasets"), short("datasets/parquet"), short("datasets/blob"),
				short("datasets/kafka")}},
		{"serve", []string{"cmd/serve"}, 14, nil},
		{"simulator", []string{"sim/cluster", "sim/cost", "sim/des", "sim/device", "sim/fabric", "sim/fit",
			"sim/goodput", "sim/graph", "sim/model", "sim/param", "sim/plan", "sim/popularity", "sim/predict",
			"sim/preset", "sim/station", "sim/sweep", "sim/system", "sim/timeline", "sim/topo"}, 20,
			[]Target{short("sim/predict"), short("sim/cluster")}},
	}
}

// ownTargets are the tests of a package itself: the short ones first, if it has some, then all.
func ownTargets(root, folder string) []Target {
	all := Target{Folder: folder}
	tests, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go")) // a bad pattern cannot occur
	for _, name := range tests {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "testing.Short()") {
			return []Target{short(folder), all}
		}
	}
	return []Target{all}
}

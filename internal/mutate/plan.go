package mutate

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// An Area is a part of the code from whose packages mutants are drawn together: each place has the same
// chance, so large packages have more of them.
type Area struct {
	Name    string
	Folders []string // of the packages, from the root of the module
	Count   int      // of mutants in a draw
	Others  []Target // run if the tests of the package itself pass
}

// Targets are the tests that run for a mutant in a folder of the area, in this order: the short ones of its
// package, if it has some, all of them, and the others of the area. Root is the root of the module.
func (a Area) Targets(root, folder string) []Target {
	targets := ownTargets(root, folder)
	for _, other := range a.Others {
		if other.Folder != folder {
			targets = append(targets, other)
		}
	}
	return targets
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

// short returns the short tests of a package.
func short(folder string) Target { return Target{Folder: folder, Flags: []string{"-short"}} }

// Core are the packages of core, numerics, replay, metrics and histograms: an area for each.
func Core() []Area {
	var (
		search  = short("algo/protocol/search")
		role    = short("algo/protocol/role")
		route   = short("algo/numeric/route")
		work    = short("algo/exec")
		refer   = short("algo/exec/reference")
		replay  = short("algo/exec/replay")
		live    = short("runtime/driver")
		train   = short("runtime/train")
		wire    = short("runtime/wire")
		record  = short("runtime/record")
		reduce  = short("runtime/allreduce")
		cluster = short("sim/cluster")
	)
	return []Area{
		alone("algo/protocol/role", 20, search, live, replay),
		alone("algo/protocol/pace", 14, role, search, cluster),
		alone("algo/protocol/msg", 4, role, replay, wire),
		alone("algo/numeric/shard", 4, route, work),
		alone("algo/numeric/route", 12, work, train),
		alone("algo/numeric/batch", 6, route, work),
		alone("algo/numeric/collective", 6, reduce, work),
		alone("algo/exec", 14, replay, train),
		alone("algo/exec/dense", 8, work, replay, train),
		alone("algo/exec/embedding", 4, refer, work),
		alone("algo/exec/reference", 4, work),
		alone("algo/exec/evaluation", 2, work, train),
		alone("algo/numeric/opt", 12, work),
		alone("algo/numeric/model", 14, work),
		alone("algo/numeric/table", 14, work),
		alone("algo/numeric/compress", 10, work, wire),
		alone("algo/exec/replay", 14, record),
		alone("algo/metric", 6),
		alone("algo/histogram", 4),
	}
}

// alone returns an area of one package.
func alone(folder string, count int, others ...Target) Area {
	return Area{path.Base(folder), []string{folder}, count, others}
}

// Outside are the areas outside the core.
func Outside() []Area {
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

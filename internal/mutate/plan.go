package mutate

import "path"

// A Subject is a package from which mutants are drawn.
type Subject struct {
	Folder string // from the root of the module
	Count  int    // of mutants in a draw
	Others []Target
}

// Name is the first part of the IDs of the subject's mutants.
func (s Subject) Name() string { return path.Base(s.Folder) }

// Targets are the tests that run for a mutant of the subject, in this order:
// those of its own package, then those of packages that use it.
func (s Subject) Targets() []Target {
	return append([]Target{{Folder: s.Folder}}, s.Others...)
}

// Subjects are the packages of core, numerics, replay, metrics and histograms.
func Subjects() []Subject {
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
	return []Subject{
		{"algo/protocol/role", 20, []Target{search, live, replay}},
		{"algo/protocol/pace", 14, []Target{role, search, cluster}},
		{"algo/protocol/msg", 4, []Target{role, replay, wire}},
		{"algo/numeric/shard", 4, []Target{route, work}},
		{"algo/numeric/route", 12, []Target{work, train}},
		{"algo/numeric/batch", 6, []Target{route, work}},
		{"algo/numeric/collective", 6, []Target{reduce, work}},
		{"algo/exec", 14, []Target{replay, train}},
		{"algo/exec/dense", 8, []Target{work, replay, train}},
		{"algo/exec/embedding", 4, []Target{refer, work}},
		{"algo/exec/reference", 4, []Target{work}},
		{"algo/exec/evaluation", 2, []Target{work, train}},
		{"algo/numeric/opt", 12, []Target{work}},
		{"algo/numeric/model", 14, []Target{work}},
		{"algo/numeric/table", 14, []Target{work}},
		{"algo/numeric/compress", 10, []Target{work, wire}},
		{"algo/exec/replay", 14, []Target{record}},
		{"algo/metric", 6, nil},
		{"algo/histogram", 4, nil},
	}
}

// short returns the short tests of a package.
func short(folder string) Target { return Target{Folder: folder, Flags: []string{"-short"}} }

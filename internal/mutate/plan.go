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

// Subjects are the packages of core, numerics, replay and metrics.
func Subjects() []Subject {
	var (
		search  = short("algo/search")
		role    = short("algo/role")
		route   = short("algo/route")
		work    = short("algo/work")
		replay  = short("algo/replay")
		live    = short("runtime/live")
		train   = short("runtime/train")
		wire    = short("runtime/wire")
		record  = short("runtime/record")
		reduce  = short("runtime/allreduce")
		cluster = short("sim/cluster")
	)
	return []Subject{
		{"algo/role", 20, []Target{search, live, replay}},
		{"algo/pace", 14, []Target{role, search, cluster}},
		{"algo/msg", 4, []Target{role, replay, wire}},
		{"algo/shard", 4, []Target{route, work}},
		{"algo/route", 12, []Target{work, train}},
		{"algo/batch", 6, []Target{route, work}},
		{"algo/collective", 6, []Target{reduce, work}},
		{"algo/work", 26, []Target{replay, train}},
		{"algo/opt", 12, []Target{work}},
		{"algo/model", 14, []Target{work}},
		{"algo/table", 14, []Target{work}},
		{"algo/compress", 10, []Target{work, wire}},
		{"algo/replay", 14, []Target{record}},
		{"algo/metric", 10, nil},
	}
}

// short returns the short tests of a package.
func short(folder string) Target { return Target{Folder: folder, Flags: []string{"-short"}} }

package mutate

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Listed is a mutant with a name: a mistake that the tests must find for ever.
type Listed struct {
	Name string
	File string // from the root of the module
	Old  string // occurs in the file exactly once
	New  string
}

// Mutant returns the mutant. An error says that the old text is not in the file
// exactly once.
func (l Listed) Mutant(root string) (Mutant, error) {
	text, err := os.ReadFile(filepath.Join(root, l.File))
	if err != nil {
		return Mutant{}, fmt.Errorf("mutate: listed mutant %q: %w", l.Name, err)
	}
	if n := strings.Count(string(text), l.Old); n != 1 {
		return Mutant{}, fmt.Errorf("mutate: listed mutant %q: its old text occurs %d times in %s, want "+
			"once: adapt the entry to the code",
			l.Name, n, l.File)
	}
	start := strings.Index(string(text), l.Old)
	folder := path.Dir(l.File)
	return Mutant{
		ID: path.Base(folder) + "/listed/" + strings.ReplaceAll(l.Name, " ", "-"), Folder: folder,
		File: l.File,
		Line: 1 + strings.Count(string(text[:start]), "\n"), Operator: "listed", Before: l.Old, After: l.New,
		start: start, end: start + len(l.Old), replacement: l.New,
	}, nil
}

// AllListed are the listed mutants.
//
// Long because it is a table.
func AllListed() []Listed {
	return []Listed{
		{
			Name: "interval of 90 percent", File: "algo/metric/bootstrap.go",
			Old: "percentile(values, 0.025), percentile(values, 0.975)",
			New: "percentile(values, 0.05), percentile(values, 0.95)",
		},
		{
			Name: "epsilon outside the root in Persia's order", File: "algo/numeric/opt/rowwise.go",
			Old: "divisor = sqrt(state[0] + o.epsilon)",
			New: "divisor = sqrt(state[0]) + o.epsilon",
		},
		{
			Name: "parts of one sample divided by the step's samples", File: "algo/numeric/route/combine.go",
			Old: "if byRank {\n\t\treturn float32(p.Samples)",
			New: "if byRank && p.Samples > 1 {\n\t\treturn float32(p.Samples)",
		},
		{
			Name: "rows of PSs not compared", File: "algo/exec/replay/player.go",
			Old: "if got != want {",
			New: "if got != want && a.state.Address().Role != msg.EmbeddingPS {",
		},
		{
			Name: "no bound on pushes in flight", File: "algo/protocol/role/strategy_served.go",
			Old: "case len(s.pushes) >= int(w.cfg.Prefetch):",
			New: "case len(s.pushes) >= int(w.cfg.Steps):",
		},
		{
			Name: "floor of an embedding PS never rises", File: "algo/protocol/role/embedding_ps.go",
			Old: "p.applied[m.Rank].raise(m.Floor)",
			New: "",
		},
		{
			Name: "floor of a dense PS never rises", File: "algo/protocol/role/dense_ps.go",
			Old: "d.applied[m.Rank].raise(m.Floor)",
			New: "",
		},
		{
			Name: "reads of a PS never released", File: "algo/exec/embedding/shard.go",
			Old: "delete(s.reads, b)",
			New: "",
		},
		{
			Name: "pushes not divided by the number of ranks", File: "algo/exec/dense/served.go",
			Old: "vec.Divide(mean, float32(d.share))",
			New: "",
		},
		{
			Name: "schedules of dense PSs count pushes", File: "algo/exec/dense/strategy.go",
			Old: "newServed(c, c.Job.Roles.Ranks, c.Job.Roles.Ranks)",
			New: "newServed(c, c.Job.Roles.Ranks, 1)",
		},
		{
			Name: "batch norm folds once a push", File: "algo/exec/dense/served.go",
			Old: "if s.Steps()%d.Job.Roles.Ranks == 0 {",
			New: "if s.Steps() > 0 {",
		},
		{
			Name: "gradients of averaged replicas divided by the step's samples",
			File: "algo/exec/dense/replicas.go",
			Old:  "int(max(w.Samples, 1)), r.first+int(w.Step))",
			New:  "int(max(w.StepSamples, 1)), r.first+int(w.Step))",
		},
		{
			Name: "demoted rows lose their optimizer state", File: "algo/exec/hot.go",
			Old: "cold := s.Tables()[0].RemoveRows(become[i]), h.table().RemoveRows(stop[i])",
			New: "cold := s.Tables()[0].RemoveRows(become[i]), h.table().RemoveRows(stop[i])\n" +
				"\t\tcold.States = nil",
		},
		{
			Name: "promoted rows stay on their PSs", File: "algo/exec/hot.go",
			Old: "if err := h.table().AddRows(hot); err != nil {",
			New: "if err := s.Tables()[0].AddRows(hot); err != nil {",
		},
		{
			Name: "hot rows counted in the first steps for ever", File: "algo/exec/frequent/frequent.go",
			Old: "first, end, samples = (k-1)*hot.Every, k*hot.Every, SamplesAgain(hot)",
			New: "first, end, samples = 0, hot.Every, SamplesAgain(hot)",
		},
		{
			Name: "ids of runs of any length", File: "runtime/transport/handshake.go",
			Old: "err != nil || len(run) != len(h.Run)",
			New: "err != nil || len(run) == len(h.Run)",
		},
		{
			Name: "raw slots pooled in what is exported", File: "runtime/export/export.go",
			Old: "if s.Pooling == batch.Raw {",
			New: "if s.Pooling != batch.Raw {",
		},
		{
			Name: "errors of runs dropped", File: "datasets/parquet/runs.go",
			Old: "if err == nil {",
			New: "if err != nil {",
		},
		{
			Name: "statistics of replicas never averaged", File: "algo/numeric/model/weights.go",
			Old: "w.engine.Layout().ShiftRunning(w.state.Running, from.Stats, sum.Stats, n)",
			New: "",
		},
	}
}

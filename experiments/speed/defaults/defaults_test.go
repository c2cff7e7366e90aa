package defaults

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/experiments/internal/report"
)

// The peers predict generated labels nearly as well as the probabilities they were drawn with: they get the
// right features, numbers and labels of the right rows.
func TestPeersLearnGeneratedRows(t *testing.T) {
	python, err := new(report.Python).With(t.Context(), modulesFor(allPeers))
	if err != nil {
		t.Skip(err)
	}
	set, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 4000, TestRows: 5000, Seed: 1, Numeric: 2,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 20, Exponent: 1},
			{Name: "item", Cardinality: 10}},
		Teacher: job.SyntheticTeacher{Linear: 1, Numeric: 1},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	peers, err := fit(t.Context(), python, allPeers, set)
	if err != nil || len(peers) == 0 || peers[0].Name != "sklearn" {
		t.Fatalf("%d peers, error %v", len(peers), err)
	}
	truth := make([]float32, len(set.TestProbability))
	for i, probability := range set.TestProbability {
		truth[i] = float32(probability)
	}
	best := metric.AUC(truth, set.Test.Labels)
	for _, one := range peers {
		got := metric.AUC(one.Predicted, set.Test.Labels)
		if t.Logf("%s: AUC %.4f of %.4f", one.Name, got, best); math.Abs(best-got) > 0.03 {
			t.Errorf("%s: AUC %.4f, the true probabilities have %.4f", one.Name, got, best)
		}
	}
}

// Each demand names the tables that miss it, and those alone, of the tables that have the library.
func TestFindings(t *testing.T) {
	good := &result{Table: "good", AUC: 0.73, LogLoss: 0.4, Constant: 0.5, Seconds: 59,
		Peers: []peer{{Name: "sklearn", AUC: 0.6}, {Name: "catboost", AUC: 0.72}}}
	worse := *good
	worse.AUC, worse.Seed = 0.715, 2 // together still above
	poor := *good
	poor.Table, poor.AUC, poor.LogLoss, poor.Seconds = "poor", 0.7099, 0.5, 60
	other := *good
	other.Table, other.AUC, other.Peers = "other", 0.5, []peer{{Name: "sklearn", AUC: 0.6}}
	for i, want := range []string{
		"AUC at least that of sklearn less 0.01: on 2 of 3 tables, not on other.",
		"AUC above that of sklearn: on 2 of 3 tables, not on other.",
		"AUC at least that of catboost less 0.01: on 1 of 2 tables, not on poor.",
		"AUC above that of catboost: on 1 of 2 tables, not on poor.",
		"Log loss below that of a constant guess on every split: on 2 of 3 tables, not on poor.",
		"Chosen and trained within 60 s: on 2 of 3 tables, not on poor.",
	} {
		if got := findings(byTable([]*result{good, &poor, &worse, &other}))[i]; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	poor.AUC = 0.7101
	if text := findings(byTable([]*result{good, &poor}))[2]; !strings.Contains(text, "on all of 2 tables") {
		t.Error(text)
	}
}

// Splits of a resumed run may have been measured with other libraries.
func TestSplitsWithOtherLibraries(t *testing.T) {
	with := func(name, version string, auc, seconds float64) peer {
		return peer{Name: name, Version: version, AUC: auc, Seconds: seconds}
	}
	results := []*result{
		{Table: "one", Seed: 1, AUC: 0.8, Peers: []peer{with("sklearn", "1", 0.7, 2)}},
		{Table: "one", Seed: 2, AUC: 0.8, Peers: []peer{with("lightgbm", "4", 0.75, 3),
			with("sklearn", "1", 0.72, 1)}},
		{Table: "two", Seed: 1, AUC: 0.6, Peers: []peer{with("sklearn", "1", 0.62, 4)}},
	}
	r := new(plan).report(results)
	for i, want := range [][][]string{
		{{"table", "Tandem", "sklearn", "lightgbm", "difference"},
			{"one", "0.8000", "0.7100", "0.7500", "+0.0500"}, {"two", "0.6000", "0.6200", "–", "−0.0200"}},
		{{"table", "Tandem", "sklearn", "lightgbm", "guess"}},
		{{"table", "rows", "positives", "chosen", "s", "sklearn s", "lightgbm s"},
			{"one", "0", "0", " 0 0,  0 0", "0.0", "2.0", "3.0"},
			{"two", "0", "0", " 0 0", "0.0", "4.0", "–"}},
	} {
		got := append([][]string{r.Tables[i].Header}, r.Tables[i].Rows...)
		if !reflect.DeepEqual(got[:len(want)], want) {
			t.Errorf("table %d: %q, want %q", i, got, want)
		}
	}
	if !strings.Contains(r.Notes[1], "sklearn 1, lightgbm 4 (on 1 of 3 splits);") {
		t.Error(r.Notes[1])
	}
}

// A run that extends an earlier one has its splits, trains none of them again, and adds a library to those
// that it measures. Other rows than in the earlier run are an error.
func TestExtend(t *testing.T) {
	stored, err := (&plan{Extended: "full.json"}).earlier()
	if err != nil {
		t.Fatal(err)
	}
	first, other := *find(stored, "parity", 1), *find(stored, "access", 2)
	first.Peers = []peer{{Name: "sklearn", AUC: 0.6}}
	dir := t.TempDir()
	p := &plan{Seed: 1, Seeds: 1, Libraries: []string{"sklearn", "catboost"},
		Extended: filepath.Join(dir, "earlier.json")}
	for _, one := range tables(false) {
		if one.Name == "parity" {
			p.Tables = append(p.Tables, one)
		}
	}
	python := filepath.Join(dir, "python") // it is asked for one library, and guesses
	script := "#!/bin/sh\ntest \"$4 $5\" = \"catboost \" && cat " + filepath.Join(dir, "answer.json") + "\n"
	answer, err := json.Marshal([]peer{{Name: "catboost", Predicted: make([]float32, first.TestRows)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"python": script, "answer.json": string(answer)} { // order-free
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	measure := func(name string) ([]*result, error) {
		text, err := json.Marshal(map[string]any{"name": name, "data": []*result{&other, &first}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.Extended, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return p.measure(t.Context(), python, report.Options{Folder: t.TempDir()})
	}
	got, err := measure(experimentName)
	if err != nil {
		t.Fatal(err)
	}
	want, added := first, got[0].peer("catboost")
	if added == nil || added.LogLoss < 8 { // the guess is 0, and half of the labels are 1
		t.Fatalf("%+v", got[0])
	}
	if want.Columns = got[0].Columns; !strings.HasPrefix(want.Columns, "sha256:") {
		t.Errorf("digest %q", want.Columns)
	}
	want.Peers = append(want.Peers[:1:1], peer{Name: "catboost", AUC: 0.5, LogLoss: added.LogLoss})
	if !reflect.DeepEqual(got, []*result{&want, &other}) {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	p.Retrained = true
	first.AUC, first.Peers = 0.1, append(first.Peers, peer{Name: "catboost", AUC: 0.3})
	if got, err = measure(experimentName); err != nil || got[0].AUC < 0.89 || got[0].Model == "" ||
		got[0].peer("catboost").AUC != 0.3 {
		t.Errorf("trained again: %+v, error %v", got[0], err)
	}
	first.Columns = "sha256:0"
	if _, err := measure(experimentName); err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("error %v", err)
	}
	first.Columns, p.Retrained, first.Peers = "", false, first.Peers[:1]
	first.TestPositives++
	for name, problem := range map[string]string{experimentName: "other rows than in the earlier run",
		"tau": `the numbers of "tau"`} {
		if _, err := measure(name); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("error %v, want %s", err, problem)
		}
	}
}

// Libraries that were fitted to the rows of a split are not fitted again: of a table with test rows, on no
// split.
func TestFittedLibrariesAreKept(t *testing.T) {
	p := &plan{Libraries: []string{"sklearn", "catboost"}}
	fitted := []*result{
		{Table: "adult-income", Seed: 1, Peers: []peer{{Name: "catboost", AUC: 0.8}}},
		{Table: "adult-income", Seed: 2, Peers: []peer{{Name: "catboost", AUC: 0.9}}},
		{Table: "parity", Seed: 1, Peers: []peer{{Name: "catboost", AUC: 0.8}}},
		{Table: "parity", Seed: 2, Peers: []peer{{Name: "sklearn", AUC: 0.7}}},
	}
	for _, one := range tables(false) {
		want := map[string]string{"adult-income": "[0.9] [sklearn]", "parity": "[0.7] [catboost]"}[one.Name]
		if want == "" {
			continue
		}
		peers, _, missing := p.kept(split{one, 2}, fitted)
		var scores []float64
		for _, kept := range peers {
			scores = append(scores, kept.AUC)
		}
		if got := fmt.Sprint(scores, missing); got != want {
			t.Errorf("%s: %s, want %s", one.Name, got, want)
		}
	}
}

// Libraries that were fitted on another split of a table with test rows are those of its rows only if these
// are the same.
func TestFittedLibrariesAreOfTheSameRows(t *testing.T) {
	p := &plan{Libraries: []string{"sklearn"}}
	at := slices.IndexFunc(tables(false), func(one table) bool { return one.hasTestRows() })
	s := split{tables(false)[at], 2}
	earlier := &result{Table: s.Name, Seed: 2, Rows: 9, Columns: "sha256:1"}
	other := &result{Table: s.Name, Seed: 1, Rows: 9, Columns: "sha256:1", Peers: []peer{{Name: "sklearn"}}}
	fitted := []*result{earlier, other}
	got, err := p.compare(t.Context(), s, earlier, fitted, "", backend.Backend{})
	if err != nil || len(got.Peers) != 1 {
		t.Fatalf("%+v, error %v", got, err)
	}
	other.Columns = "sha256:2"
	_, err = p.compare(t.Context(), s, earlier, fitted, "", backend.Backend{})
	if err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("the libraries of other columns: error %v", err)
	}
	// A split that the earlier run has not is read, and has neither the columns of the other one.
	_, err = p.compare(t.Context(), s, nil, []*result{other}, "", backend.Backend{})
	if err == nil || !strings.Contains(err.Error(), "other rows") {
		t.Errorf("the libraries of other rows: error %v", err)
	}
}

// Tables are measured in the order in which they are named.
func TestNamedTables(t *testing.T) {
	all := tables(false)
	some, err := named(all, []string{"frappe", "parity"})
	if err != nil || len(some) != 2 || some[0].Name != "frappe" || some[1].Name != "parity" {
		t.Errorf("%+v, error %v", some, err)
	}
	if _, err := named(all, []string{"pairity"}); err == nil || !strings.Contains(err.Error(), "parity") {
		t.Errorf("error %v", err)
	}
	if every, err := named(all, nil); err != nil || len(every) != len(all) {
		t.Errorf("%d tables, error %v", len(every), err)
	}
}

// The page of the chapter has the stored numbers of every table, and no others.
func TestPageHasTheStoredNumbers(t *testing.T) {
	stored, err := (&plan{Extended: "full.json"}).earlier()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := byTable(stored)
	for _, one := range all {
		lead := func(name string, of func(*result, *peer) float64) metric.Interval {
			return metric.MeanInterval(one.peers(name, of))
		}
		auc := func(r *result, p *peer) float64 { return r.AUC - p.AUC }
		least := lead("sklearn", auc)
		if other := lead("lightgbm", auc); other.Estimate < least.Estimate {
			least = other
		}
		text := func(i metric.Interval) string {
			if math.IsNaN(i.Low) || math.IsInf(i.Low, 0) || i.Low == i.High {
				return fmt.Sprintf("%+.4f", i.Estimate)
			}
			return fmt.Sprintf("%+.4f (%+.4f to %+.4f)", i.Estimate, i.Low, i.High)
		}
		own := metric.MeanInterval(one.values(func(r *result) float64 { return r.AUC })).Estimate
		row := "| " + strings.Replace(one[0].Table, "adult-income", "census income", 1) + " | "
		row += strings.ReplaceAll(fmt.Sprintf("%.4f | %s | %d | %s | %+.4f |", own,
			text(least), len(one.peers("catboost", auc)), text(lead("catboost", auc)),
			lead("catboost", func(r *result, p *peer) float64 { return r.LogLoss - p.LogLoss }).Estimate),
			"-", "−")
		if !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("no line %s", row)
		}
	}
	_, after, _ := strings.Cut(string(page), "| table | Tandem's AUC |")
	after, _, _ = strings.Cut(after, "\n\n")
	if n := strings.Count(after, "\n|") - 1; n != len(all) {
		t.Errorf("%d lines, want %d", n, len(all))
	}
}

// An interpreter without the libraries is an error with their names.
func TestNoLibraryIsInstalled(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\necho '[]'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rows := &batch.Batch{Samples: 1, Labels: []float32{1}}
	_, err := fit(t.Context(), python, allPeers[1:], &datasets.Dataset{Train: rows, Test: rows})
	if err == nil || !strings.HasSuffix(err.Error(), "python has none of lightgbm, catboost") {
		t.Errorf("error %v", err)
	}
	if got := modulesFor(allPeers[:1]); got != "numpy, scipy, sklearn" {
		t.Errorf("scikit-learn alone needs %s", got)
	}
	if got := modulesFor(allPeers[1:]); !strings.HasSuffix(got, ", pandas") {
		t.Errorf("the others need %s", got)
	}
}

// Generated tables have the columns that they name, and the same rows whenever they are written. What no
// column says alone is most of the first.
func TestGeneratedTables(t *testing.T) {
	for _, g := range generatedTables {
		g.rows = 3000
		var first *datasets.Dataset
		for range 2 {
			path, err := g.write(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s := split{table{Label: "click", DataSet: report.DataSet{Data: job.Data{Path: ""}}}, 1}
			s.Data.Path = path
			data, err := s.describe("")
			if err != nil {
				t.Fatal(err)
			}
			set, err := datasets.Open(data, "")
			if err != nil {
				t.Fatal(err)
			}
			if n := len(set.Schema.Slots) + len(set.Schema.Dense); n != len(g.columns) {
				t.Errorf("%s: %d columns are used, of %q", g.name, n, g.columns)
			}
			if first == nil {
				first = set
			} else if !slices.Equal(first.Train.Slots[0].IDs, set.Train.Slots[0].IDs) ||
				!slices.Equal(first.Train.Labels, set.Train.Labels) {
				t.Errorf("%s: other rows the second time", g.name)
			}
		}
	}
}

// The quick version measures census income.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	if _, err := new(report.Python).With(t.Context(), modulesFor(allPeers[:1])); err != nil {
		t.Skip(err)
	}
	r, err := New().Run(t.Context(), report.Options{Quick: true, Seeds: 1, Seed: 1, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range r.Findings {
		if t.Log(text); i != 1 && !strings.Contains(text, "on all of 1 tables") { // 1: above all others
			t.Error(text)
		}
	}
}

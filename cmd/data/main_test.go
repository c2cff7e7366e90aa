package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tandem/internal/cli/clitest"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"data": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The scripts in testdata run the command as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TANDEM_DATA", e.WorkDir)
			table, err := os.ReadFile("../../datasets/parquet/testdata/snappy.parquet")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(e.WorkDir, "table.parquet"), table, 0o644)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": clitest.Status,
			"slot": checkSlot, "expand": expand},
	})
}

// expand writes a file with $WORK filled in: expand from to.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "$WORK", ts.Getenv("WORK"))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// checkSlot demands what the profile on standard output says of a slot:
// slot name distinct ids-per-row max-share singletons missing.
func checkSlot(ts *testscript.TestScript, _ bool, args []string) {
	var found profile
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &found))
	for _, slot := range found.Slots {
		if slot.Name != args[0] {
			continue
		}
		for i, got := range []float64{float64(slot.Distinct), slot.MeanIDs, slot.MaxShare, slot.Singletons,
			slot.Missing} {
			if want, err := strconv.ParseFloat(args[i+1], 64); err != nil || got != want {
				ts.Fatalf("slot %s, field %d: %v, want %s", args[0], i+1, got, args[i+1])
			}
		}
		return
	}
	ts.Fatalf("no slot %s", args[0])
}

// A row that holds an id twice counts once for the share of rows and twice for
// the draws.
func TestCountsOfSeveralIDs(t *testing.T) {
	counts := newIDCounts()
	counts.add(batch.Jagged{Offsets: []int32{0, 3, 3}, IDs: []uint64{7, 7, 8}}, 2)
	counts.add(batch.Jagged{Offsets: []int32{0, 1, 2}, IDs: []uint64{7, 9}}, 2)
	got := counts.profile("s")
	// Id 7 is in 2 of 4 rows; 5 ids in 4 rows; 8 and 9 are seen once.
	if got.Distinct != 3 || got.MaxShare != 0.5 || got.MeanIDs != 1.25 || got.Singletons != 2.0/3 ||
		got.Missing != 0.25 ||
		!slices.Equal(slices.Sorted(slices.Values(got.occurrences)), []int64{1, 1, 3}) {
		t.Errorf("%+v", got)
	}
}

// Real files are recognised, and every row of them is good.
func TestRealFilesAreRecognised(t *testing.T) {
	dataDir := os.Getenv("TANDEM_DATA")
	if dataDir == "" {
		t.Skip("TANDEM_DATA is not set")
	}
	for file, kind := range map[string]string{
		"criteo-kaggle-head/train_head10k.txt.gz": "criteo",
		"avazu/avazu_random15k.csv":               "avazu",
		"taobao-ad-sample/dmr_sample500.csv":      "taobao-ad",
		"alimama-ijcai18/ijcai18_union.csv.gz":    "ijcai18",
		"movielens-100k/u.data":                   "movielens",
		"movielens-1m-implicit/test.csv":          "movielens-implicit",
		"frappe/nfm_test.libfm.gz":                "libfm",
		"open-bandit/bts_men.csv":                 "csv",
	} {
		s, err := (&program{}).open(&flags{}, []string{dataDir + "/" + file}, job.OnBadRow{})
		if err != nil || string(s.Job.Kind) != kind || s.Dropped != 0 {
			t.Errorf("%s: %+v, error %v; want kind %s", file, s, err, kind)
		}
	}
}

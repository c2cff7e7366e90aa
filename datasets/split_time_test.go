package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
)

func TestTimeKeysAreInOrder(t *testing.T) {
	for _, fields := range [][]string{
		{"-1e9", "-2", "-0.5", "0", "1e-9", "3", "20171107", "1700000000", "1700000000.5"},
		{"1970-01-01", "2017-11-07 9:30", "2017-11-07 09:30:01", "2017-11-07T09:30:01.5",
			"2017-11-07T10:30:02+00:30", "2019-11-24 00:01:03.979311+00:00", "2019/11/24 00:02", "25.11.2019",
			"25.11.2019 07:30", "2019/11/26", "2261-12-31"},
	} {
		var keys []uint64
		for _, field := range fields {
			key, reason := timeKey(field)
			if reason != "" {
				t.Errorf("%s: %s", field, reason)
			}
			keys = append(keys, key)
		}
		if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
			t.Errorf("%v have the keys %v", fields, keys)
		}
	}
	for _, field := range []string{"", "noon", "2017-13-01", "1969-12-31", "nan", "01/02/2026"} {
		if _, reason := timeKey(field); reason == "" {
			t.Errorf("%q has a key", field)
		}
	}
}

// openByTime opens rows of a user, its time and a label.
func openByTime(t *testing.T, share float64, text string) (*Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte("user,at,y\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Open(job.Data{Kind: job.KindCSV, Path: path,
		CSV:   &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "y"},
		Split: job.Split{How: job.SplitTime, Column: "at", Test: share}}, "")
}

// The test rows are the latest, rows of one time stay together, and both parts are in the order of time.
func TestSplitByTime(t *testing.T) {
	const text = "d,4,1\na,1,0\nc,3,1\nb,2,0\ne,4,0\n"
	for _, c := range []struct {
		share       float64
		train, test string
	}{
		{0.4, "abc", "de"}, {0.2, "abc", "de"}, // d and e have one time
		{0.6, "ab", "cde"}, {0.01, "abc", "de"}, {0.99, "a", "bcde"},
	} {
		set, err := openByTime(t, c.share, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Schema.Slots) != 1 || len(set.Train.Slots) != 1 || !set.Latest {
			t.Fatalf("%d slots of %d", len(set.Train.Slots), len(set.Schema.Slots))
		}
		for _, part := range []struct {
			ids  []uint64
			want string
		}{{set.Train.Slots[0].IDs, c.train}, {set.Test.Slots[0].IDs, c.test}} {
			var want []uint64
			for _, user := range strings.Split(part.want, "") {
				want = append(want, CategoryID(user))
			}
			if !slices.Equal(part.ids, want) {
				t.Errorf("share %v: %d rows, want %s", c.share, len(part.ids), part.want)
			}
		}
	}
}

func TestSplitByTimeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a,1,1\nb,1,0\n":          `"at" is the same in all rows`,
		"a,1,1\nb,2017-11-07,0\n": `"at" has numbers and times`,
		"a,1,1\nb,noon,0\n":       `column at: "noon": neither a number nor a time`,
	} {
		if _, err := openByTime(t, 0.5, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

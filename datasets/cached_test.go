package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
)

// readCached reads clicks.tsv, a criteo file beside the folder of the cache.
func readCached(t *testing.T, folder string, skip int) (*Rows, error) {
	t.Helper()
	return ReadRows(job.Data{Kind: job.KindCriteo, Cache: folder, OnBadRow: job.OnBadRow{Skip: skip}},
		filepath.Join(filepath.Dir(folder), "clicks.tsv"))
}

// The second read decodes no text: with a decoder that fails, it returns the rows, counts and bad
// rows of the first.
func TestCachedColumnsAreNotParsedAgain(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "kept")
	write(t, dir, "clicks.tsv", criteoLine("1", "5", "0a")+"bad\n"+
		criteoLine("0", "", "")+criteoLine("0", "7", "\xff"))
	first, err := readCached(t, folder, 3)
	if err != nil || len(first.Notes) > 0 {
		t.Fatal(err, first)
	}
	columns, dropped := newColumnCache(folder), &droppedRows{policy: job.OnBadRow{Skip: 3}}
	f := formatOf(&job.Data{Kind: job.KindCriteo})
	f.Lines = func(string) (decode.LineDecoder, error) {
		t.Error("the file is parsed again")
		return nil,
			ErrNoRows
	}
	again, err := f.readPath(filepath.Join(dir, "clicks.tsv"), dropped, columns)
	if err != nil || len(columns.notes) > 0 {
		t.Fatal(err, columns.notes)
	}
	sameBatch(t, again, first.Batch)
	if dropped.count != 2 || fmt.Sprint(dropped.first) != fmt.Sprint(first.BadRows) {
		t.Errorf("%d dropped, %v; want %d, %v", dropped.count, dropped.first, first.DroppedRows,
			first.BadRows)
	}
	// A stricter policy returns the same error as without a cache.
	_, want := ReadRows(job.Data{Kind: job.KindCriteo, Cache: job.CacheOff, OnBadRow: job.OnBadRow{Skip: 1}},
		filepath.Join(dir, "clicks.tsv"))
	if _, err := readCached(t, folder, 1); err == nil || err.Error() != want.Error() {
		t.Errorf("error %v, want %v", err, want)
	}
}

// If cached columns cannot be used or stored, the rows are correct and a note gives the reason.
func TestUnusableCachedColumns(t *testing.T) {
	text := criteoLine("1", "5", "0a") + criteoLine("0", "6", "0b")
	damage := func(at int64) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			files, _ := filepath.Glob(filepath.Join(dir, "kept", "*.columns"))
			file, err := os.OpenFile(files[0], os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.WriteAt([]byte{0xa5}, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		happens func(t *testing.T, dir string)
		note    string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"a changed source": {func(t *testing.T, dir string) {
			write(t, dir, "clicks.tsv", text+text)
		}, "clicks.tsv has changed since: "},
		"another version":  {damage(15), "of another version: "},
		"a damaged header": {damage(40), "damaged: a checksum differs: "},
		"no folder can be made": {func(t *testing.T, dir string) {
			os.RemoveAll(filepath.Join(dir, "kept"))
			write(t, dir, "kept", "in the way")
		}, "cache: "},
		"the folder is gone": {func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "kept")) },
			""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "clicks.tsv", text)
			if _, err := readCached(t, filepath.Join(dir, "kept"), 0); err != nil {
				t.Fatal(err)
			}
			c.happens(t, dir)
			got, err := readCached(t, filepath.Join(dir, "kept"), 0)
			if err != nil {
				t.Fatal(err)
			}
			want, err := ReadRows(job.Data{Kind: job.KindCriteo, Cache: job.CacheOff},
				filepath.Join(dir, "clicks.tsv"))
			if err != nil {
				t.Fatal(err)
			}
			sameBatch(t, got.Batch, want.Batch)
			notes := strings.Join(got.Notes, "\n")
			if c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			if strings.HasPrefix(name, "no folder") {
				return
			}
			if last, err := readCached(t, filepath.Join(dir, "kept"), 0); err != nil || len(last.Notes) > 0 {
				t.Errorf("not kept again: notes %q, error %v", last.Notes, err)
			}
		})
	}
}

// Cached columns depend on the attribute files of ratings and on the description of a csv file.
func TestCachedColumnsDependOnEverythingThatIsRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "u.data", "1\t7\t4\t881250949\n")
	cfg := job.Data{Kind: job.KindMovieLens, Cache: filepath.Join(dir, "kept")}
	for _, user := range []string{"", "1|24|M|writer|85711\n", "1|25|M|writer|85711\n"} {
		if user != "" {
			write(t, dir, "u.user", user)
		}
		for range 2 {
			rows, err := ReadRows(cfg, filepath.Join(dir, "u.data"))
			if err != nil {
				t.Fatal(err)
			}
			var age []string
			if user != "" {
				age = []string{user[2:4]}
			}
			checkIDs(t, rows.Schema, rows.Batch, "age", 0, age...)
		}
	}
	write(t, dir, "t.csv", csvHeader+"ann,30,x|y,1,\n")
	table := testCSV()
	table.Cache = cfg.Cache
	for _, separator := range []string{"|", "", "y"} {
		table.CSV.Slots[1].Separator = separator
		got, err := ReadRows(table, filepath.Join(dir, "t.csv"))
		plain := table
		plain.Cache = job.CacheOff
		want, err2 := ReadRows(plain, filepath.Join(dir, "t.csv"))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		sameBatch(t, got.Batch, want.Batch)
	}
}

func TestSmallFilesAreCachedOnlyInANamedFolder(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", filepath.Join(os.Getenv("HOME"), "c"))
	write(t, os.Getenv("HOME"), "small.tsv", criteoLine("1", "5", "0a"))
	if _, err := ReadRows(job.Data{Kind: job.KindCriteo},
		filepath.Join(os.Getenv("HOME"), "small.tsv")); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(criteoLine("1", "5", "0a"), cachedBytesMin/100)
	write(t, os.Getenv("HOME"), "large.tsv", large)
	if _, err := ReadRows(job.Data{Kind: job.KindCriteo},
		filepath.Join(os.Getenv("HOME"), "large.tsv")); err != nil {
		t.Fatal(err)
	}
	folder, err := CacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(folder); len(files) != 1 {
		t.Errorf("%v in %s, want the columns of the large file", files, folder)
	}
}

package datasets

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// followed returns the data of a folder of files with the columns user, price and click.
func followed(folder string) job.Data {
	return job.Data{Kind: job.KindFollow, Path: folder, CSV: &job.Table{
		Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}, Label: "click"}}
}

// followJob returns a job with a number of samples a step, and of steps a block.
func followJob(batch, block int) *job.Job {
	j := job.Default()
	j.Training.GlobalBatch, j.Training.EvaluateEvery.Steps = batch, block
	return &j
}

// arrive writes a file and renames it into a folder.
func arrive(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "."+name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, "."+name), filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

// clicks returns a file with rows first to end−1. The user of a row is its number.
func clicks(first, end int) string {
	text := "user,price,click\n"
	for row := first; row < end; row++ {
		text += fmt.Sprintf("%d,%d,%d\n", row, row%7, row%2)
	}
	return text
}

// mustFollow begins to follow a folder that has a file.
func mustFollow(t *testing.T, data job.Data) *Stream {
	t.Helper()
	s, _, err := Follow(t.Context(), data, "", "", nil, func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustBegin begins the steps of a job.
func mustBegin(t *testing.T, s *Stream, j *job.Job) (ledger string) {
	t.Helper()
	ledger = filepath.Join(t.TempDir(), "stream.jsonl")
	if err := s.Begin(j, ledger); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return ledger
}

// mustNext returns the next block.
func mustNext(t *testing.T, s *Stream, step int) (rows *batch.Batch, first, end int) {
	t.Helper()
	rows, first, end, err := s.Next(step)
	if err != nil {
		t.Fatal(err)
	}
	return rows, first, end
}

// users returns the ids of the rows first to end−1 of clicks.
func users(first, end int) (ids []uint64) {
	for row := first; row < end; row++ {
		ids = append(ids, CategoryID(fmt.Sprint(row)))
	}
	return ids
}

// The first file, of 7 rows, has two steps of 4, the last of which is short, the one with a header alone has
// none, and the third, of 8 rows, has two. Numbers are scaled as in the first file, of 0 to 6: their mean is
// 3 and their variance 4.
func TestStepsOfAStreamAreThoseOfItsFiles(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"_a.csv", ".a.csv", "a.csv.tmp", "a.csv.part"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("torn"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	arrive(t, folder, "b.csv", clicks(0, 7))
	s := mustFollow(t, followed(folder))
	mustBegin(t, s, followJob(4, 0))
	rows, first, end := mustNext(t, s, 0)
	if first != 0 || end != 2 || !slices.Equal(rows.Slots[0].IDs, users(0, 7)) {
		t.Errorf("block of steps %d to %d with %d rows", first, end, rows.Samples)
	}
	if rows.Dense[0] != -1.5 || rows.Dense[5] != 1 {
		t.Errorf("numbers %v", rows.Dense)
	}
	if rows, _, _ := mustNext(t, s, 2); rows != nil {
		t.Error("rows that have not arrived")
	}
	arrive(t, folder, "c.csv", clicks(7, 7))
	arrive(t, folder, "d.csv", clicks(7, 15))
	rows, first, end = mustNext(t, s, 2)
	if first != 2 || end != 4 || s.Steps() != 4 || !slices.Equal(rows.Slots[0].IDs, users(7, 15)) {
		t.Errorf("block of steps %d to %d of %d", first, end, s.Steps())
	}
	if rows.Dense[0] != -1.5 { // row 7 has the price 0
		t.Errorf("numbers %v", rows.Dense)
	}
	for step, want := range [][]uint64{2: users(7, 11), 3: users(11, 15)} {
		if want == nil {
			continue
		}
		b, err := s.Read(step)
		if err != nil || !slices.Equal(b.Slots[0].IDs, want) || s.Samples(step) != 4 {
			t.Errorf("step %d: %v, error %v", step, b, err)
		}
	}
	if s.Samples(1) != 3 || s.SamplesBefore(2) != 7 || s.SamplesBefore(3) != 11 || s.SamplesBefore(4) != 15 {
		t.Error("other numbers of rows")
	}
	if name, _ := s.FileOf(3); filepath.Base(name) != "d.csv" {
		t.Errorf("step 3 is of %s", name)
	}
}

// A block has at most the steps after which the job evaluates, and does not go beyond its file.
func TestBlocksOfAStream(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "a.csv", clicks(0, 20))
	s := mustFollow(t, followed(folder))
	mustBegin(t, s, followJob(4, 2))
	for step, want := range [][3]int{{0, 2, 8}, {0, 2, 8}, {2, 4, 8}, {2, 4, 8}, {4, 5, 4}} {
		rows, first, end := mustNext(t, s, step)
		if got := [3]int{first, end, rows.Samples}; got != want {
			t.Errorf("step %d: first, end and rows are %v, want %v", step, got, want)
		}
	}
}

// A file that is being written is complete when another follows it.
func TestFilesThatAreFollowed(t *testing.T) {
	folder := t.TempDir()
	data := followed(folder)
	data.Complete = job.CompleteFollowed
	arrive(t, folder, "a.csv", clicks(0, 4))
	arrive(t, folder, "b.csv", clicks(4, 6))
	s := mustFollow(t, data)
	mustBegin(t, s, followJob(4, 0))
	if rows, _, _ := mustNext(t, s, 1); rows != nil {
		t.Error("the last file is taken")
	}
	arrive(t, folder, "b.csv", clicks(4, 8))
	arrive(t, folder, "c.csv", "torn")
	if rows, _, _ := mustNext(t, s, 1); rows == nil || !slices.Equal(rows.Slots[0].IDs, users(4, 8)) {
		t.Errorf("rows %v", rows)
	}
	arrive(t, folder, "d.csv", "")
	if _, _, _, err := s.Next(2); err == nil || !strings.HasSuffix(err.Error(), "when they are whole") {
		t.Errorf("error %v", err) // it does not advise what is so
	}
}

// Wherever a training ends, and in any order of the files, another that continues with its ledger has each
// of the later steps once, with the rows that they had. Files before them may be gone.
func TestAStreamContinuesWhereItWas(t *testing.T) {
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 1))
		folder, row := t.TempDir(), 0
		idsOf := map[string][]uint64{} // by file
		add := func() {                // by a name that may be before or after the others
			rows, name := 1+draw.IntN(20), fmt.Sprintf("%03d-%d.csv", draw.IntN(1000), row)
			arrive(t, folder, name, clicks(row, row+rows))
			idsOf[name] = users(row, row+rows)
			row += rows
		}
		add()
		s := mustFollow(t, followed(folder))
		ledger := mustBegin(t, s, followJob(4, 0))
		var ids []uint64 // trained so far
		var at []int     // their number before each step
		step := 0
		for saved := 0; step < 30; {
			rows, _, end := mustNext(t, s, step)
			if rows == nil {
				add()
				continue
			}
			stop := step + 1 + draw.IntN(end-step)
			for ; step < stop; step++ {
				b, err := s.Read(step)
				if err != nil {
					t.Fatal(err)
				}
				at = append(at[:step], len(ids))
				ids = append(ids, b.Slots[0].IDs...)
			}
			if stop == end || draw.IntN(2) == 0 {
				continue
			}
			saved += draw.IntN(step - saved + 1)
			if step = saved; step < len(at) {
				ids = ids[:at[step]]
			}
			if file, _ := s.fileOf(step); file > 0 {
				_ = os.Remove(filepath.Join(folder, s.ledger.arrivals[file-1].File)) // it may be gone
			}
			tear(t, ledger)
			var err error
			if s, _, err = FollowOn(followed(folder), "", ledger, nil); err != nil {
				t.Fatal(err)
			}
			ledger = mustBegin(t, s, followJob(4, 0))
		}
		var want []uint64
		for _, a := range s.ledger.arrivals {
			want = append(want, idsOf[a.File]...)
		}
		if want = want[:s.SamplesBefore(step)]; !slices.Equal(ids, want) {
			t.Errorf("seed %d: rows %v, want %v", seed, ids, want)
		}
	}
}

// tear adds the beginning of a line to a file, as a process does that dies while it writes.
func tear(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, `{"file":"torn`...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A file whose header was read alone must not get rows afterwards, whether another file comes or not.
func TestRowsAfterAHeaderAreNoticed(t *testing.T) {
	for _, later := range []string{"", "c.csv"} {
		folder := t.TempDir()
		arrive(t, folder, "a.csv", clicks(0, 4))
		s := mustFollow(t, followed(folder))
		mustBegin(t, s, followJob(4, 0))
		arrive(t, folder, "b.csv", clicks(4, 4))
		if rows, _, _ := mustNext(t, s, 1); rows != nil {
			t.Error("a header alone has rows")
		}
		arrive(t, folder, "b.csv", clicks(4, 8))
		if later != "" {
			arrive(t, folder, later, clicks(8, 12))
		}
		if _, _, _, err := s.Next(1); err == nil ||
			!strings.Contains(err.Error(), "b.csv:1: the file has changed after it was read") {
			t.Errorf("error %v", err)
		}
	}
}

// A file of nothing but bad rows, of which as many are allowed, has no rows, and they are counted.
func TestAFileOfBadRowsAlone(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "a.csv", clicks(0, 4))
	data := followed(folder)
	data.OnBadRow.Skip = 2
	s := mustFollow(t, data)
	mustBegin(t, s, followJob(4, 0))
	arrive(t, folder, "b.csv", "user,price,click\n1,x,1\n2,y,1\n")
	arrive(t, folder, "c.csv", clicks(4, 8))
	if rows, _, _ := mustNext(t, s, 1); rows == nil || !slices.Equal(rows.Slots[0].IDs, users(4, 8)) ||
		s.Dropped() != 2 {
		t.Errorf("rows %v, %d were left out", rows, s.Dropped())
	}
	arrive(t, folder, "d.csv", "user,price,click\n1,x,1\n")
	if _, _, _, err := s.Next(2); err == nil || !strings.Contains(err.Error(), "d.csv:2: bad row") {
		t.Errorf("error %v", err)
	}
}

// Files are taken in the order of letters, and none from a folder within. By the rule followed, the last name
// is never taken.
func TestOrderOfFiles(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "0.csv"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"10.csv", "8.csv", "9.csv"} {
		arrive(t, folder, name, "")
	}
	for rule, want := range map[string][]string{job.CompleteRenamed: {"10.csv", "8.csv", "9.csv"},
		job.CompleteFollowed: {"10.csv", "8.csv"}} {
		var got []string
		for {
			name, err := nextFile(folder, rule, func(name string) bool { return slices.Contains(got, name) })
			if err != nil {
				t.Fatal(err)
			}
			if name == "" {
				break
			}
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

// The first file is the one that is named, wherever its name is among others.
func TestTheFirstFileIsTheNamedOne(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "a.csv", clicks(0, 4))
	arrive(t, folder, "b.csv", clicks(4, 8))
	s, _, err := Follow(t.Context(), followed(folder), "", "b.csv", nil, nil)
	if err != nil || filepath.Base(s.First()) != "b.csv" {
		t.Errorf("%v, error %v", s, err)
	}
}

// Files of a header or of bad rows alone cannot be the first, and are taken after it. A bad row counts once.
func TestTheFirstFileHasRows(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "a.csv", "user,price,click\n")
	arrive(t, folder, "aa.csv", "user,price,click\n1,x,1\n")
	arrive(t, folder, "b.csv", clicks(0, 4))
	data := followed(folder)
	data.OnBadRow.Skip = 1
	s := mustFollow(t, data)
	mustBegin(t, s, followJob(4, 0))
	arrive(t, folder, "c.csv", clicks(4, 8))
	rows, first, end, err := s.Next(1)
	if err != nil || filepath.Base(s.First()) != "b.csv" || first != 1 || end != 2 || rows.Samples != 4 {
		t.Errorf("first %s; steps %d to %d, %+v, error %v", s.First(), first, end, rows, err)
	}
	if s.Dropped() != 1 {
		t.Errorf("%d bad rows, want 1", s.Dropped())
	}
}

// A file of a header alone that is replaced while there is no other is looked at again.
func TestTheFirstFileMayComeLate(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "a.csv", "user,price,click\n")
	replaced := false
	s, _, err := Follow(t.Context(), followed(folder), "", "", nil, func(time.Duration) {
		if !replaced {
			replaced = true
			arrive(t, folder, "a.csv", clicks(0, 4))
		}
	})
	if err != nil || filepath.Base(s.First()) != "a.csv" || !replaced {
		t.Errorf("%v, replaced %v", err, replaced)
	}
}

func TestProblemsOfStreams(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"b.csv", "user,price,click\n1,2,1\n3,4", "b.csv:3: the line is torn"},
		{"b.csv", "user,price,click\n1,2,1\n3,4\n", "b.csv:3: bad row"},
		{"b.csv", "user,price,click\n1,x,1\n", `b.csv:2: bad row: column price: "x"`},
		{"b.csv", "user,click\n1,1\n", "b.csv:1: "},
		{"b.csv", "", "b.csv:1: the file is empty"},
		{"a.csv", clicks(0, 5), "a.csv:5: the file has changed after it was read"},
	} {
		folder := t.TempDir()
		arrive(t, folder, "a.csv", clicks(0, 4))
		s := mustFollow(t, followed(folder))
		mustBegin(t, s, followJob(4, 0))
		arrive(t, folder, c.name, c.text)
		_, _, _, err := s.Next(1)
		if err == nil || !strings.Contains(err.Error(), filepath.Join(folder, c.want)) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// A file that was trained on before must not have changed when a training continues.
func TestAStreamContinuesWithTheSameFiles(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "a.csv", clicks(0, 4))
	ledger := mustBegin(t, mustFollow(t, followed(folder)), followJob(4, 0))
	arrive(t, folder, "a.csv", clicks(0, 8))
	if _, _, err := FollowOn(followed(folder), "", ledger, nil); err == nil ||
		!strings.Contains(err.Error(), "a.csv:5: the file has changed") {
		t.Errorf("error %v", err)
	}
	// The same size and time, and a row less.
	name := filepath.Join(folder, "a.csv")
	arrive(t, folder, "a.csv", clicks(0, 4))
	other := mustBegin(t, mustFollow(t, followed(folder)), followJob(4, 0))
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	arrive(t, folder, "a.csv", strings.Replace(clicks(0, 4), "1,1,1\n2,2,0\n", "1111111,2,0\n", 1))
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	changed, _, err := FollowOn(followed(folder), "", other, nil)
	if err != nil {
		t.Fatal(err)
	}
	mustBegin(t, changed, followJob(4, 0))
	if _, _, _, err := changed.Next(0); err == nil || !strings.Contains(err.Error(), "it had 4 rows") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "a.csv")); err != nil {
		t.Fatal(err)
	}
	s, _, err := FollowOn(followed(folder), "", ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	mustBegin(t, s, followJob(4, 0))
	if _, _, _, err := s.Next(0); err == nil || !strings.Contains(err.Error(), "a.csv") ||
		!strings.Contains(err.Error(), "restore the file") {
		t.Errorf("a file whose rows are needed is gone: error %v", err)
	}
	if err := os.WriteFile(ledger, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := FollowOn(followed(folder), "", ledger, nil); err == nil {
		t.Error("an empty ledger is accepted")
	}
}

// Waiting for the first file ends with the context, and a folder that does not exist is an error.
func TestWaitingForAStream(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Follow(ctx, followed(folder), "", "", nil, func(time.Duration) { cancel() })
	if err != context.Canceled {
		t.Errorf("error %v", err)
	}
	_, _, err = Follow(t.Context(), followed(filepath.Join(folder, "none")), "", "", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no such folder") {
		t.Errorf("error %v", err)
	}
	if _, err := Open(followed(folder), ""); err == nil || !strings.Contains(err.Error(), "follow") {
		t.Errorf("error %v", err)
	}
}

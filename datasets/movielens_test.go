package datasets

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// genres19 has the flags of the given genres.
func genres19(genres ...int) string {
	flags := slices.Repeat([]string{"0"}, 19)
	for _, g := range genres {
		flags[g] = "1"
	}
	return strings.Join(flags, "|")
}

func TestMovieLensJoinsAttributes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "u.data", "1\t7\t4\t881250949\n2\t8\t3\t881250950\n")
	alone, err := ReadRows(job.Data{Kind: job.KindMovieLens}, filepath.Join(dir, "u.data"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "u.user", "1|24|M|writer|85711\n2|53|F|other|94043\n")
	write(t, dir, "u.item", "7|Seven|01-Jan-1995||http://x|"+genres19(1, 18)+
		"\n8|Caf\xe9|01-Jan-1995||http://y|"+genres19()+"\n")
	joined, err := ReadRows(job.Data{Kind: job.KindMovieLens}, filepath.Join(dir, "u.data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []*Rows{alone, joined} {
		checkIDs(t, rows.Schema, rows.Batch, "user", 1, "2")
		checkIDs(t, rows.Schema, rows.Batch, "item", 0, "7")
		if !slices.Equal(rows.Batch.Labels, []float32{1, 0}) { // 4 is liked, 3 is not
			t.Errorf("labels %v", rows.Batch.Labels)
		}
	}
	checkIDs(t, alone.Schema, alone.Batch, "age", 0)
	checkIDs(t, alone.Schema, alone.Batch, "genres", 0)
	checkIDs(t, joined.Schema, joined.Batch, "age", 0, "24")
	checkIDs(t, joined.Schema, joined.Batch, "gender", 1, "F")
	checkIDs(t, joined.Schema, joined.Batch, "occupation", 0, "writer")
	checkIDs(t, joined.Schema, joined.Batch, "zip", 1, "94043")
	checkIDs(t, joined.Schema, joined.Batch, "genres", 0, "1", "18")
	checkIDs(t, joined.Schema, joined.Batch, "genres", 1)

	write(t, dir, "u.data", "1\t7\t4\t1\n3\t7\t4\t1\n1\t9\t4\t1\n")
	rows, err := ReadRows(job.Data{Kind: job.KindMovieLens, OnBadRow: job.OnBadRow{Skip: 2}},
		filepath.Join(dir, "u.data"))
	if err != nil || rows.Batch.Samples != 1 || rows.DroppedRows != 2 {
		t.Fatalf("error %v, %+v", err, rows)
	}
	for i, want := range []string{`u.data:2: bad row: column user: "3": not in u.user`,
		`u.data:3: bad row: column item: "9": not in u.item`} {
		if !strings.HasSuffix(rows.BadRows[i].Error(), want) {
			t.Errorf("%v, want %s", rows.BadRows[i], want)
		}
	}
	// Attributes are not rows: a bad one is an error under any policy.
	for _, c := range []struct{ file, text, want string }{
		{"u.item", "7|Seven|||x|" + strings.Replace(genres19(), "0", "2", 1) + "\n",
			`u.item:1: bad row: flag of genre 0 is "2"`},
		{"u.user", "1|24|M|writer|85711\n2|24|M|writer\n",
			"u.user:2: bad row: 4 fields between bars, want 5"},
	} {
		write(t, dir, c.file, c.text)
		if _, err := ReadRows(job.Data{Kind: job.KindMovieLens, OnBadRow: job.OnBadRow{Skip: 2}},
			filepath.Join(dir, "u.data")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestMovieLensBadRows(t *testing.T) {
	checkBadRows(t, job.Data{Kind: job.KindMovieLens}, "1\t7\t4\t881250949\n", []badRow{
		{"1\t7\t4", "", "", "3 tab-separated fields, want 4"},
		{"1\t7\t6\t0", "rating", "6", "1 to 5"},
		{"1\t7\t3.5\t0", "rating", "3.5", "1 to 5"},
		{"1\t7\t\t0", "rating", "", "1 to 5"},
	})
	checkBadRows(t, job.Data{Kind: job.KindMovieLensImplicit}, "1-2-3-4,5-6\n", []badRow{
		{"1-2-3-4", "", "", "not of the form"},
		{"1-2-3,5-6", "", "", "not of the form"},
		{"1-2-3-4,5-6-7", "", "", "not of the form"},
		{"1-2-3-4,5,6", "", "", "not of the form"},
		{"1--3-4,5-6", "gender", "", "must not be empty"},
		{"1-2-3-4,-6", "item", "", "must not be empty"},
	})
}

// interactions draws positives. Every item has one genre.
func interactions(t *rapid.T, label string, users, items int) string {
	var text strings.Builder
	for range rapid.IntRange(1, 30).Draw(t, label+" rows") {
		user, item := rapid.IntRange(1, users).Draw(t, "user"), rapid.IntRange(1, items).Draw(t, "item")
		fmt.Fprintf(&text, "%d-m-%d-o,%d-%d\n", user, user%3, item, item%2)
	}
	return text.String()
}

// Every positive is followed by its negatives. They have the columns of the user, an item of the
// training rows that the user does not have, and the genre of the item.
func TestNegativesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Item 40 is in train, and only user 99 has it.
		trainText := interactions(t, "train", 5, 20) + "99-m-0-o,40-0\n"
		testText := interactions(t, "test", 5, 25)
		train, _, err := readText(job.Data{Kind: job.KindMovieLensImplicit}, trainText, 0)
		if err != nil {
			t.Fatal(err)
		}
		test, _, err := readText(job.Data{Kind: job.KindMovieLensImplicit}, testText, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := job.NegativeSampling{
			PerPositive: rapid.IntRange(1, 3).Draw(t, "negatives"), Seed: rapid.Uint64().Draw(t, "seed"),
			By: rapid.SampledFrom([]string{"", job.NegativesUniform, job.NegativesPopularity}).Draw(t, "by"),
		}
		has := map[[2]uint64]bool{}
		genre := map[uint64]uint64{} // of the training items
		for i := range train.Samples {
			genre[train.Slots[implicitItem].IDs[i]] = train.Slots[implicitGenre].IDs[i]
		}
		trainAll, testAll, err := implicitNegatives(n).Extend(train, test)
		if err != nil { // a user with every item, which 99 may be
			if len(genre) > 1 {
				t.Fatal(err)
			}
			return
		}
		for _, part := range []struct{ before, after *batch.Batch }{{train, trainAll}, {test, testAll}} {
			for i := range part.before.Samples {
				has[[2]uint64{part.before.Slots[implicitUser].IDs[i],
					part.before.Slots[implicitItem].IDs[i]}] = true
			}
			if part.after.Samples != part.before.Samples*(1+n.PerPositive) {
				t.Fatalf("%d rows of %d positives", part.after.Samples, part.before.Samples)
			}
			for i := range part.after.Samples {
				positive := i / (1 + n.PerPositive)
				for s := range implicitItem {
					if part.after.Slots[s].SampleIDs(i)[0] != part.before.Slots[s].IDs[positive] {
						t.Fatalf("row %d: the user's side changed", i)
					}
				}
				item := part.after.Slots[implicitItem].SampleIDs(i)[0]
				if i%(1+n.PerPositive) == 0 {
					if part.after.Labels[i] != 1 || item != part.before.Slots[implicitItem].IDs[positive] {
						t.Fatalf("row %d is not positive %d", i, positive)
					}
					continue
				}
				own, isTrain := genre[item]
				if part.after.Labels[i] != 0 || !isTrain ||
					own != part.after.Slots[implicitGenre].SampleIDs(i)[0] {
					t.Fatalf("row %d: label %v, a training item: %v", i, part.after.Labels[i], isTrain)
				}
				if has[[2]uint64{part.after.Slots[implicitUser].IDs[i], item}] {
					t.Fatalf("row %d: the user has the item", i)
				}
			}
		}
	})
}

// User 2 has none of the items; item a has 3 of 4 rows. Of 4,000 draws, a gets
// 2,000 or 3,000, with a standard deviation of √(n·p·(1−p)) ≤ 32.
func TestNegativesFollowTheirDistribution(t *testing.T) {
	train := "1-m-1-o,a-x\n3-m-1-o,a-x\n4-m-1-o,a-x\n5-m-1-o,b-x\n2-m-1-o,c-x\n"
	dir := t.TempDir()
	write(t, dir, "train", train)
	write(t, dir, "test", "2-m-1-o,d-x\n")
	for by, want := range map[string]int{job.NegativesUniform: 500, job.NegativesPopularity: 750} {
		sampling := job.NegativeSampling{PerPositive: 1000, By: by}
		cfg := job.Data{Kind: job.KindMovieLensImplicit, Train: "train", Test: "test", Negatives: sampling}
		count := 0
		for seed := range uint64(4) {
			cfg.Negatives.Seed = seed
			data, err := Open(cfg, dir)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Open(cfg, dir)
			if err != nil {
				t.Fatal(err)
			}
			items := data.Test.Slots[implicitItem].IDs
			if !slices.Equal(items, again.Test.Slots[implicitItem].IDs) {
				t.Error("the same seed gave other rows")
			}
			for _, item := range items {
				if item == CategoryID("a") {
					count++
				}
			}
		}
		if want *= 4; count < want-160 || count > want+160 {
			t.Errorf("%s: item a %d times of 4000, want about %d", by, count, want)
		}
	}
}

func TestNegativesNeedAnotherItem(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train", "1-m-1-o,a-x\n1-m-1-o,b-x\n2-m-1-o,a-x\n")
	write(t, dir, "test", "2-m-1-o,c-x\n")
	_, err := Open(job.Data{Kind: job.KindMovieLensImplicit, Train: "train", Test: "test"}, dir)
	if want := "a user of row 1 of the train rows has every item"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// The test file has one line per user; every line gets one negative.
func TestMovieLensImplicitReal(t *testing.T) {
	data, err := Open(job.Data{
		Kind: job.KindMovieLensImplicit, Train: "movielens-1m-implicit/train.csv.gz",
		Test:      "movielens-1m-implicit/test.csv",
		Negatives: job.NegativeSampling{PerPositive: 1, By: job.NegativesPopularity},
	}, dataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if data.Train.Samples != 2*994_169 || data.Test.Samples != 2*6040 || positiveRate(data.Test) != 0.5 {
		t.Errorf("%d and %d rows", data.Train.Samples, data.Test.Samples)
	}
}

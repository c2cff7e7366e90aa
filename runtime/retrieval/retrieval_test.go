package retrieval_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/modeltest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
	"tandem/runtime/retrieval"
)

// trained returns the items of a model that was trained on the first rows of a table.
func trained(t *testing.T, stack batch.HashStack) (*retrieval.Items, string) {
	t.Helper()
	folder := t.TempDir()
	var text strings.Builder
	text.WriteString("user,item,click\n")
	for i := range 400 {
		fmt.Fprintf(&text, "u%d,i%d,%d\n", i%9, i*i%50, i%3/2)
	}
	path, all := filepath.Join(folder, "clicks.csv"), filepath.Join(folder, "all.csv")
	for name, more := range map[string]string{path: "", all: "u1,new,1\nu1,new,0\nu1,newer,0\n"} {
		if err := os.WriteFile(name, []byte(text.String()+more), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j := job.Default().InMode(job.Sync)
	j.Cluster = job.PersiaCluster()
	j.Data = job.Data{Kind: job.KindCSV, Path: path, CSV: &job.Table{Label: "click",
		Slots: []job.IDColumn{{Column: "user"}, {Column: "item"}}}}
	if stack.Rounds > 0 {
		j.Data.Slots = []job.SlotSetting{{Slot: "item", HashStack: stack}}
	}
	folder, _ = modeltest.Train(t, j)
	m, err := inference.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	items, err := retrieval.Collect(m, "item", func(use func(string, uint64)) error {
		return datasets.EachID(m.Data(), all, "item", use)
	})
	if err != nil {
		t.Fatal(err)
	}
	return items, folder
}

// mixed returns the output of SplitMix64 for a state.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The embedding of an id is the sum of the rows of its signs. The id is the mixed FNV-1a hash of its text. In
// a hash-stack it names a row in each round, by the round's output of SplitMix64 seeded with the id.
func TestItemsAreTheSumsOfTheRowsOfTheirSigns(t *testing.T) {
	for _, stack := range []batch.HashStack{{}, {Rounds: 3, Rows: 7}} {
		items, folder := trained(t, stack)
		saved, err := checkpoint.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer saved.Close()
		reader, err := saved.Rows()
		if err != nil {
			t.Fatal(err)
		}
		rows := map[uint64][]float32{}
		for sign, values := range reader.Trained() {
			rows[sign] = slices.Clone(values)
		}
		schema, err := saved.Schema.Batch()
		if err != nil {
			t.Fatal(err)
		}
		bits := 64 - schema.PrefixBits
		for i, id := range items.IDs {
			hash := fnv.New64a()
			hash.Write([]byte(id))
			numbers := []uint64{mixed(hash.Sum64())}
			if stack.Rounds > 0 {
				seed := numbers[0]
				numbers = nil
				for round := range uint64(stack.Rounds) {
					numbers = append(numbers, round*7+mixed(seed+(round+1)*0x9e3779b97f4a7c15)%7)
				}
			}
			want := make([]float32, items.Dim)
			for _, x := range numbers {
				for k, v := range rows[x%(1<<bits-1)+2<<bits] {
					want[k] += v
				}
			}
			if got := items.Values[i*items.Dim:][:items.Dim]; !slices.Equal(got, want) {
				t.Errorf("%+v, %s: %v, want %v", stack, id, got, want)
			}
		}
		if stack.Rounds == 0 && (items.Untrained != 2 || items.IDs[0] != "i0" || items.Counts[0] != 40) {
			t.Errorf("%d untrained, first %s with %d rows", items.Untrained, items.IDs[0], items.Counts[0])
		}
		for i, id := range items.IDs {
			if at := items.Find(datasets.CategoryID(id)); at != i {
				t.Errorf("%s is at %d, not at %d", id, at, i)
			}
		}
		if at := items.Find(datasets.CategoryID("other")); at != -1 {
			t.Errorf("an id that is none of them is at %d", at)
		}
	}
}

// The nearest ids are those of a search through all in double precision.
func TestNearestAreThoseOfASlowSearch(t *testing.T) {
	for _, stack := range []batch.HashStack{{}, {Rounds: 2, Rows: 7}} {
		items, _ := trained(t, stack)
		n := len(items.IDs)
		cosine := func(a, b int) float64 {
			var ab, aa, bb float64
			for k := range items.Dim {
				x, y := float64(items.Values[a*items.Dim+k]), float64(items.Values[b*items.Dim+k])
				ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
			}
			return ab / math.Sqrt(aa*bb)
		}
		for item := range n {
			var others []int
			for other := range n {
				if other != item {
					others = append(others, other)
				}
			}
			sort.SliceStable(others, func(i, k int) bool {
				return cosine(item, others[i]) > cosine(item, others[k])
			})
			near := items.Nearest(item, 5)
			if len(near) != 5 {
				t.Fatalf("%d neighbours", len(near))
			}
			for i, one := range near {
				want := cosine(item, others[i]) // ids whose cosines are nearly equal may change places
				if math.Abs(float64(one.Cosine)-want) > 1e-5 || one.Item == item ||
					math.Abs(cosine(item, one.Item)-want) > 1e-5 {
					t.Errorf("%s: %d. is %s with %v, want %s with %v", items.IDs[item], i+1,
						items.IDs[one.Item], one.Cosine, items.IDs[others[i]], want)
				}
			}
		}
		if all := items.Nearest(0, math.MaxInt); len(all) != n-1 {
			t.Errorf("%d neighbours of %d ids", len(all), n)
		}
	}
}

// Of ids that are equally alike, the first in the file comes first.
func TestEqualNeighboursAreInTheOrderOfTheFile(t *testing.T) {
	items, _ := trained(t, batch.HashStack{Rounds: 1, Rows: 2}) // two embeddings in all
	var last retrieval.Neighbour
	for i, one := range items.Nearest(0, 20) {
		if i > 0 && (one.Cosine > last.Cosine || one.Cosine == last.Cosine && one.Item < last.Item) {
			t.Errorf("%+v after %+v", one, last)
		}
		last = one
	}
}

func TestWriteParquet(t *testing.T) {
	items, _ := trained(t, batch.HashStack{})
	var out bytes.Buffer
	if err := items.WriteParquet(&out); err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID        string    `parquet:"id"`
		Rows      int64     `parquet:"rows"`
		Embedding []float32 `parquet:"embedding,list"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || len(rows) != len(items.IDs) {
		t.Fatalf("%d rows of %d ids, error %v", len(rows), len(items.IDs), err)
	}
	for i, r := range rows {
		if r.ID != items.IDs[i] || int(r.Rows) != items.Counts[i] ||
			!slices.Equal(r.Embedding, items.Values[i*items.Dim:][:items.Dim]) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
}

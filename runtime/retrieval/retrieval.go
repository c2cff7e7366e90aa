package retrieval

import (
	"cmp"
	"container/heap"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"tandem/runtime/inference"
)

// Items are the distinct ids of a slot in some rows that have an embedding, in the order of their first rows.
type Items struct {
	Slot   string
	Dim    int
	IDs    []string  // their texts
	Counts []int     // the values with each
	Values []float32 // items × Dim
	// Untrained is the number of distinct ids whose rows were never trained, or are not in the model, which
	// are not among the items. In a hash-stack every id has rows: a new one those of others.
	Untrained int

	places map[uint64]int // of items by id
	norms  []float32
}

// Collect collects the distinct ids of a slot, and their embeddings. each calls use with the text and the id
// of every value, as datasets.EachID does; there must be one. Memory: the embeddings (4·Dim bytes an id; of a
// hash-stack those of all its rows at first) and the texts.
func Collect(m *inference.Model, slot string, each func(use func(text string, id uint64)) error) (*Items,
	error) {
	it := &Items{Slot: slot, places: map[uint64]int{}}
	var ids []uint64
	err := each(func(text string, id uint64) {
		at, ok := it.places[id]
		if !ok {
			at, it.places[id] = len(ids), len(ids)
			it.IDs, ids, it.Counts = append(it.IDs, text), append(ids, id), append(it.Counts, 0)
		}
		it.Counts[at]++
	})
	if err != nil {
		return nil, err
	}
	if it.Values, err = m.Embeddings(slot, ids); err != nil {
		return nil, err
	}
	it.Dim = len(it.Values) / len(ids)
	it.compact(ids)
	return it, nil
}

// compact removes the items whose embeddings are zeros, as rows read that were never trained.
func (it *Items) compact(ids []uint64) {
	n := 0
	for i, id := range ids {
		own := it.Values[i*it.Dim:][:it.Dim]
		norm := math.Sqrt(float64(dot(own, own)))
		if norm == 0 {
			delete(it.places, id)
			continue
		}
		it.places[id], it.IDs[n], it.Counts[n] = n, it.IDs[i], it.Counts[i]
		copy(it.Values[n*it.Dim:], own)
		it.norms = append(it.norms, float32(norm))
		n++
	}
	it.Untrained = len(ids) - n
	it.IDs, it.Counts, it.Values = it.IDs[:n], it.Counts[:n], it.Values[:n*it.Dim]
}

// dot returns the sum of products of equally many values.
func dot(a, b []float32) float32 { return engine.Sdot(len(a), a, 1, b, 1) }

var engine gonum.Implementation

// Find returns the place of an id among the items, −1 if it is none of them.
func (it *Items) Find(id uint64) int {
	if at, ok := it.places[id]; ok {
		return at
	}
	return -1
}

// Neighbour is an item with its likeness to another: the cosine of the angle between their embeddings, −1 to
// 1.
type Neighbour struct {
	Item   int
	Cosine float32
}

// Nearest returns the items that are most like one, without itself: at most some, which is at least 1, the
// most alike first, and of equal ones the first of the items.
func (it *Items) Nearest(item, most int) []Neighbour {
	products := make([]float32, len(it.IDs))
	engine.Sgemv(blas.NoTrans, len(it.IDs), it.Dim, 1, it.Values, it.Dim, it.Values[item*it.Dim:], 1, 0,
		products, 1)
	var best worstFirst
	for i, product := range products {
		if i == item {
			continue
		}
		n := Neighbour{i, product / (it.norms[i] * it.norms[item])}
		if len(best) == most && compare(n, best[0]) >= 0 { // as nearly all, in no time
			continue
		}
		if heap.Push(&best, n); len(best) > most {
			heap.Pop(&best)
		}
	}
	slices.SortFunc(best, compare)
	return best
}

// compare orders the most alike first, and of equal ones the first of the items.
func compare(a, b Neighbour) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Item, b.Item))
}

// worstFirst is a heap whose first is the least alike.
type worstFirst []Neighbour

// Len implements heap.Interface.
func (w worstFirst) Len() int { return len(w) }

// Less implements heap.Interface.
func (w worstFirst) Less(i, k int) bool { return compare(w[i], w[k]) > 0 }

// Swap implements heap.Interface.
func (w worstFirst) Swap(i, k int) { w[i], w[k] = w[k], w[i] }

// Push implements heap.Interface.
func (w *worstFirst) Push(n any) { *w = append(*w, n.(Neighbour)) }

// Pop implements heap.Interface.
func (w *worstFirst) Pop() any {
	last := len(*w) - 1
	n := (*w)[last]
	*w = (*w)[:last]
	return n
}

// record is an item in a Parquet file.
type record struct {
	ID        string    `parquet:"id"`
	Rows      int64     `parquet:"rows"`
	Embedding []float32 `parquet:"embedding,list"`
}

// rowGroup is the number of items of a row group, whose pages the writer keeps in memory.
const rowGroup = 1 << 16

// WriteParquet writes the items as a Parquet file with the columns id, rows, which has the number of its
// values, and embedding, a list.
func (it *Items) WriteParquet(out io.Writer) error {
	w := parquet.NewGenericWriter[record](out, parquet.MaxRowsPerRowGroup(rowGroup))
	for i, id := range it.IDs {
		one := record{id, int64(it.Counts[i]), it.Values[i*it.Dim:][:it.Dim]}
		if _, err := w.Write([]record{one}); err != nil {
			return err
		}
	}
	return w.Close()
}

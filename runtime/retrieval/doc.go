// Package retrieval finds ids whose embeddings are alike.
//
//	items, err := retrieval.Collect(m, "item", func(use func(string, uint64)) error {
//		return datasets.EachID(m.Data(), "clicks.csv", "item", use)
//	})
//	for _, n := range items.Nearest(items.Find(id), 10) { … items.IDs[n.Item], n.Cosine … }
//
// The neighbours are exact: all embeddings are compared, items × values multiplications. Reading the ids
// takes longer, and so would building an index for one question. For many questions of many millions of ids,
// write them (WriteParquet) for a library with an index, such as FAISS.
package retrieval

package exec

import (
	"errors"
	"fmt"

	"tandem/algo/exec/dense"
	"tandem/algo/numeric/table"
)

// RankState is a copy of all that the ranks of a run have in common if they reduce gradients in every step.
type RankState struct {
	Dense dense.Part     // the dense network, with the state of its optimizer
	Hot   *table.Columns // the hot rows; nil: none
	Steps int            // of the run, that it has
}

// CopyRank returns the state of the ranks of this process, at least one. None may have work. Cost: a copy of
// the dense network and the hot rows.
func CopyRank(m *ModelState) (s RankState, err error) {
	if s.Dense, s.Steps, err = dense.CopyRank(m.dense); err != nil || m.hot == nil {
		return s, err
	}
	t := m.hot.table()
	s.Hot = table.NewColumns(t.Len(), t.EmbeddingBytes(), t.StateBytes())
	t.CopyRows(0, s.Hot)
	return s, nil
}

// SetRank gives the ranks of this process the state of a rank in another one, in place of their own. None may
// have work.
func SetRank(m *ModelState, s RankState) error {
	if err := dense.CheckParts([]dense.Part{s.Dense}, m.Layout()); err != nil {
		return err
	}
	if (m.hot == nil) != (s.Hot == nil) {
		return errors.New("exec: hot rows on one rank, and none on another")
	}
	if s.Hot != nil {
		if err := checkColumns(s.Hot, m.hot.table()); err != nil {
			return err
		}
	}
	if err := dense.SetRank(m.dense, s.Dense, s.Steps); err != nil || m.hot == nil {
		return err
	}
	t := m.hot.table()
	var before []uint64
	for sign := range t.All() {
		before = append(before, sign)
	}
	t.RemoveRows(before)
	m.hot.taken = int32(s.Steps)
	return t.AddRows(s.Hot)
}

// checkColumns returns an error if rows do not have the sizes of those of a table.
func checkColumns(c *table.Columns, t *table.Table) error {
	n := len(c.Signs)
	if len(c.Updates) != n || len(c.Read) != n || len(c.Embeddings) != n*t.EmbeddingBytes() ||
		len(c.States) != n*t.StateBytes() {
		return fmt.Errorf("exec: %d hot rows of %d bytes and %d bytes of state, want %d and %d a row", n,
			len(c.Embeddings), len(c.States), t.EmbeddingBytes(), t.StateBytes())
	}
	return nil
}

package checkpoint

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint/arrow"
)

// candidatesFile returns the name of the file with the candidates of the table whose rows are in a file.
func candidatesFile(rows string) string {
	return strings.TrimSuffix(rows, ".arrow") + "-candidates.arrow"
}

// Columns of a file of candidates, besides signColumn.
const (
	stepColumn = "step"
	seenColumn = "seen"
	oldColumn  = "old"
)

// candidateFields returns the columns of a file of candidates.
func candidateFields() []arrow.Field {
	return []arrow.Field{{Name: signColumn, Type: arrow.Uint64}, {Name: stepColumn, Type: arrow.Uint32},
		{Name: seenColumn, Type: arrow.Uint8}, {Name: oldColumn, Type: arrow.Uint8}}
}

// encodeCandidates writes candidates, of which there are some.
func encodeCandidates(out io.Writer, all []table.Candidate) error {
	signs, steps := make([]uint64, len(all)), make([]uint32, len(all))
	seen, old := make([]byte, len(all)), make([]byte, len(all))
	for i, one := range all {
		signs[i], steps[i], seen[i] = one.Sign, one.Step, one.Seen
		if one.Old {
			old[i] = 1
		}
	}
	w := arrow.NewWriter(out, candidateFields(), []arrow.KeyValue{{Key: "format", Value: formatName}})
	if err := w.WriteBatch(len(all), bytesOf(signs), bytesOf(steps), seen, old); err != nil {
		return err
	}
	return w.Close()
}

// readCandidates returns the candidates of one of ByOwner. It reads and checks their file.
func (c *Checkpoint) readCandidates(shelf int) (all []table.Candidate, err error) {
	want := c.Manifest.Rows.ByOwner()[shelf].Candidates
	if want == 0 {
		return nil, nil
	}
	name := candidatesFile(c.Manifest.Rows.RowsFile(shelf))
	data, err := c.readChecked(name)
	if err != nil {
		return nil, err
	}
	if all, err = decodeCandidates(data); err == nil && len(all) != want {
		err = fmt.Errorf("%d candidates, and the manifest says %d", len(all), want)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// decodeCandidates returns the candidates in a file.
func decodeCandidates(data []byte) (all []table.Candidate, err error) {
	f, err := arrow.Read(data, func(lo, hi int) error { return nil })
	if err != nil {
		return nil, err
	}
	want := candidateFields()
	if len(f.Fields) != len(want) {
		return nil, errRows
	}
	for i, field := range f.Fields {
		if field.Name != want[i].Name || field.Type != want[i].Type || field.List != want[i].List {
			return nil, errRows
		}
	}
	for _, b := range f.Batches {
		signs, steps := numbersOf[uint64](b.Columns[0]), numbersOf[uint32](b.Columns[1])
		for i := range b.Rows {
			all = append(all, table.Candidate{Sign: signs[i], Step: steps[i], Seen: b.Columns[2][i],
				Old: b.Columns[3][i] > 0})
		}
	}
	return all, nil
}

// restoreCandidates gives the tables of this process the candidates of the model. Those of a table that does
// not count are left out. A file is read only where a table may take some of it: with the tables and servers
// of the model, by the process of its own table.
func (r *rowsRestore) restoreCandidates() error {
	if !slices.ContainsFunc(r.tables, func(t *table.Table) bool { return t != nil && t.Counts() }) {
		return nil
	}
	for shelf := range r.Manifest.Rows.ByOwner() {
		if r.stays(shelf) && r.tables[shelf] == nil {
			continue
		}
		all, err := r.readCandidates(shelf)
		if err != nil {
			return err
		}
		parts := make([][]table.Candidate, len(r.tables))
		for _, one := range all {
			if of := r.of(one.Sign); r.tables[of] != nil {
				parts[of] = append(parts[of], one)
			}
		}
		for i, part := range parts {
			if len(part) == 0 {
				continue
			}
			if err := r.tables[i].AddCandidates(part); err != nil {
				return err
			}
		}
	}
	return nil
}

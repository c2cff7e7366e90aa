package main

import (
	"fmt"
	"io"
	"strings"

	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// rowStore is the memory of embedding rows at the end of a run. It is zero if the roles are in
// other processes.
type rowStore struct {
	Rows  int   `json:"rows"`
	Bytes int64 `json:"bytes"` // of rows and their index
	// ResidentBytes are those in memory; 0 where the system does not report it.
	ResidentBytes    int64   `json:"resident_bytes"`
	HugePageShare    float64 `json:"huge_page_share"`   // of what is in memory
	EvictedRows      int     `json:"evicted_rows"`      // that made room for others
	EvictedGradients int     `json:"evicted_gradients"` // that found their row evicted
}

// newRowStore returns the memory that a run has used in an arena.
func newRowStore(result *train.Result, arena *memory.Arena) (rowStore, error) {
	use, err := arena.Use()
	s := rowStore{
		Rows: result.Rows, Bytes: int64(result.RowMemory), ResidentBytes: int64(use.Resident),
		EvictedRows: result.EvictedRows, EvictedGradients: result.EvictedGradients,
	}
	if use.Resident > 0 {
		s.HugePageShare = float64(use.Huge) / float64(use.Resident)
	}
	return s, err
}

// writeRows prints the memory of the rows, once for modes that have the same.
func (r *report) writeRows(w io.Writer) {
	var texts []string
	modes := map[string][]string{}
	for _, line := range r.Runs {
		if line.EmbeddingRows.Bytes == 0 {
			continue // in other processes
		}
		text := line.EmbeddingRows.String()
		if modes[text] == nil {
			texts = append(texts, text)
		}
		modes[text] = append(modes[text], line.Mode)
	}
	for _, text := range texts {
		of := strings.Join(modes[text], ", ")
		if len(texts) == 1 && len(modes[text]) > 1 {
			of = "every mode"
		}
		cli.Paragraph(w, of+": "+text, "  ")
	}
}

// String describes the memory.
func (s *rowStore) String() string {
	text := fmt.Sprintf("%d embedding rows in %v", s.Rows, unit.Bytes(s.Bytes))
	if s.ResidentBytes > 0 {
		text += fmt.Sprintf(", %.0f %% of it in huge pages", 100*s.HugePageShare)
	}
	if s.EvictedRows > 0 {
		text += fmt.Sprintf("; %d made room for others, %d gradients came too late for theirs", s.EvictedRows,
			s.EvictedGradients)
	}
	return text
}

// writeDropped prints the gradients that modes dropped because they were too late.
func (r *report) writeDropped(w io.Writer) {
	for _, line := range r.Runs {
		if line.DroppedGradients > 0 {
			cli.Paragraph(w, fmt.Sprintf("%s: %s came too late and had no effect; where PSs drop gradients, "+
				"the parts of a batch are counted one by one", line.Mode,
				plural(int(line.DroppedGradients), "gradient")), "  ")
		}
	}
}

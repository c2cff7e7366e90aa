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
	ExpiredRows      int     `json:"expired_rows,omitempty"`
	ExpiredGradients int     `json:"expired_gradients,omitempty"` // that found their row expired
	Waiting          int     `json:"waiting_ids,omitempty"`       // without rows, whose steps are counted
	WaitingBytes     int64   `json:"waiting_bytes,omitempty"`     // of these
	applied          int     // gradients that found their row
	// GPUs are those that have rows. Bytes then includes a copy of their rows in the memory of the host.
	// PSRows and PSBytes are what PSs have, if the job has rows in both places.
	GPUs    []gpu `json:"gpus,omitempty"`
	PSRows  int   `json:"ps_rows,omitempty"`
	PSBytes int64 `json:"ps_bytes,omitempty"`
	// IDs are those of the training, if GPUs have the hot rows, and IDsOnGPUs those that named one of these.
	IDs       uint64 `json:"ids,omitempty"`
	IDsOnGPUs uint64 `json:"ids_on_gpus,omitempty"`
}

// gpu is what a GPU has of the rows.
type gpu struct {
	Device   string `json:"device"`
	Rows     int    `json:"rows"`
	Capacity int    `json:"capacity"`
	Bytes    int64  `json:"bytes"` // taken for as many rows
	Updates  int    `json:"updates"`
}

// newRowStore returns the memory that a run has used in an arena.
func newRowStore(result *train.Result, arena *memory.Arena) (rowStore, error) {
	use, err := arena.Use()
	s := rowStore{
		Rows: result.Rows, Bytes: int64(result.RowMemory), ResidentBytes: int64(use.Resident),
		EvictedRows: result.EvictedRows, EvictedGradients: result.EvictedGradients,
		ExpiredRows: result.ExpiredRows, ExpiredGradients: result.ExpiredGradients,
		Waiting: result.Waiting, WaitingBytes: int64(result.WaitingMemory),
		applied: result.AppliedGradients, IDs: result.IDs, IDsOnGPUs: result.IDsOnGPUs,
	}
	if use.Resident > 0 {
		s.HugePageShare = float64(use.Huge) / float64(use.Resident)
	}
	for _, g := range result.GPURows {
		s.GPUs = append(s.GPUs, gpu{Device: g.Device, Rows: g.Rows, Capacity: g.Capacity,
			Bytes: int64(g.Memory), Updates: g.Updates})
	}
	if len(s.GPUs) > 0 && result.PSRows > 0 {
		s.PSRows, s.PSBytes = result.PSRows, int64(result.PSRowMemory)
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
	if len(s.GPUs) > 0 {
		return s.onGPUs()
	}
	text := fmt.Sprintf("%d embedding rows in %v", s.Rows, unit.Bytes(s.Bytes))
	if s.ResidentBytes > 0 {
		text += fmt.Sprintf(", %.0f %% of it in huge pages", 100*s.HugePageShare)
	}
	if s.EvictedRows > 0 {
		text += fmt.Sprintf("; %d made room for others, %d gradients came too late for theirs", s.EvictedRows,
			s.EvictedGradients)
	}
	if s.ExpiredRows > 0 {
		text += fmt.Sprintf("; %d have expired, %d gradients came too late for theirs", s.ExpiredRows,
			s.ExpiredGradients)
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf("; %d ids wait for rows, in %v", s.Waiting, unit.Bytes(s.WaitingBytes))
	}
	return text
}

// onGPUs describes memory and load of every GPU.
func (s *rowStore) onGPUs() string {
	updates, of, texts := 0, "updates", []string{}
	if s.PSRows > 0 {
		of = "updates on GPUs"
		texts = append(texts, fmt.Sprintf("%d on PSs in %v", s.PSRows, unit.Bytes(s.PSBytes)))
	}
	for _, g := range s.GPUs {
		updates += g.Updates
	}
	for _, g := range s.GPUs {
		share := 100 * float64(g.Updates) / float64(max(updates, 1))
		texts = append(texts, fmt.Sprintf("%s %d of %d in %v, %.0f %% of %s", g.Device, g.Rows,
			g.Capacity, unit.Bytes(g.Bytes), share, of))
	}
	if s.IDs > 0 {
		texts = append(texts, fmt.Sprintf("GPUs served %.1f %% of %d ids",
			100*float64(s.IDsOnGPUs)/float64(s.IDs), s.IDs))
	}
	return fmt.Sprintf("%d embedding rows: %s", s.Rows, strings.Join(texts, "; "))
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

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// readingTook records how long the data loader of a run in this process waited for rows.
// Batches are read and dealt ahead, so NN workers wait less.
func (r *report) readingTook(mode string, waited, wall time.Duration) {
	if waited == 0 || wall <= 0 { // the rows are read in another process
		return
	}
	if r.Reading == nil {
		r.Reading = map[string]float64{}
	}
	r.Reading[mode] = max(r.Reading[mode], waited.Seconds()/wall.Seconds())
}

// writeReading prints the largest share of a run in which its data loader waited for rows.
func (r *report) writeReading(w io.Writer) {
	if len(r.Reading) == 0 {
		return
	}
	most := slices.Max(slices.Collect(maps.Values(r.Reading)))
	fmt.Fprintf(w, "The data loader waited for rows during at most %.1f %% of a run.\n", 100*most)
}

package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"tandem/algo/histogram"
	"tandem/algo/protocol/delay"
)

// measured is a quantity that a row summarises, over all seeds: own, cross, dense or missed.
type measured struct {
	quantity string
	values   histogram.Histogram
}

// writeHistograms writes how often each value of each quantity occurred.
func (r *report) writeHistograms(name string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	records := [][]string{{"mode", "quantity", "value", "count"}}
	for _, line := range r.Runs {
		for i := range line.histograms {
			h := &line.histograms[i]
			for value, count := range h.values.All() {
				records = append(records,
					[]string{line.Mode, h.quantity, strconv.Itoa(value), strconv.FormatUint(count, 10)})
			}
		}
	}
	if err := csv.NewWriter(out).WriteAll(records); err != nil {
		return err
	}
	return out.Close()
}

// writeTraces writes a trace for --delay for every mode whose reads were stale.
func (r *report) writeTraces(folder string) error {
	for _, line := range r.Runs {
		own := &line.histograms[0].values
		if own.Max() == 0 {
			continue
		}
		var text strings.Builder
		comment := fmt.Sprintf("own staleness of %s, batches missed by a read; for --delay \"trace FILE\"",
			line.Mode)
		if err := delay.WriteCounts(&text, comment, own.All()); err != nil {
			return err
		}
		name := filepath.Join(folder, "staleness-"+fileName(line.Mode)+".txt")
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fileName returns the part of a file name that stands for a mode: words joined by dashes.
func fileName(mode string) string {
	words := strings.FieldsFunc(mode, func(c rune) bool {
		return !unicode.IsLetter(c) &&
			!unicode.IsDigit(c) && c != '.' && c != '-'
	})
	return strings.Join(words, "-")
}

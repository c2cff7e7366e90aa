package delay

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// Trace is a list of measured or made-up delays: either the count of each delay, or the delay of each step.
type Trace struct {
	weights []float64 // of the delays 0, 1, 2 …
	steps   []int     // of the steps 0, 1, 2 …; repeated from the start after its end
}

// The headers of the two forms of trace.
const (
	countsHeader = "staleness count"
	stepsHeader  = "delay"
)

// ParseTrace reads a trace: text with a header and one line for each entry. It ignores empty lines and lines
// that begin with #. There are two forms:
//
//	staleness count     the number of occurrences of each staleness:
//	0 120               delays are drawn from this distribution
//	1 75
//
//	delay               the delays of step 0, step 1 …,
//	3                   repeated from the start after the last
//	0
//
// Commands write the first form for the own staleness that they measure in a run (WriteCounts). Delays drawn
// from the measured staleness of reads have the same mean staleness, but not the same distribution: see the
// package comment.
//
// The error begins with the number of the line, such as ":3: …".
func ParseTrace(text []byte) (*Trace, error) {
	t, header := &Trace{}, ""
	lines, number := bufio.NewScanner(bytes.NewReader(text)), 0
	for lines.Scan() {
		number++
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			continue
		case header == "":
			header = strings.Join(fields, " ")
			if header != countsHeader && header != stepsHeader {
				return nil, fmt.Errorf(":%d: %q; want the header %q or %q", number, header, countsHeader,
					stepsHeader)
			}
			continue
		}
		if err := t.add(fields, header == countsHeader); err != nil {
			return nil, fmt.Errorf(":%d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf(":%d: %w", number+1, err)
	}
	if len(t.steps) == 0 && checkWeights(t.weights) != nil {
		return nil, fmt.Errorf(":%d: no entries; want %q or %q and a line for each entry", number+1,
			countsHeader, stepsHeader)
	}
	return t, nil
}

// add adds the entry of one line.
func (t *Trace) add(fields []string, counts bool) error {
	delay, err := strconv.Atoi(fields[0])
	if err != nil || delay < 0 || delay > stepsMax {
		return fmt.Errorf("%q; want a number of steps from 0 to %d", fields[0], stepsMax)
	}
	if !counts {
		if len(fields) != 1 {
			return fmt.Errorf("%d values; want one: the delay of a step", len(fields))
		}
		t.steps = append(t.steps, delay)
		return nil
	}
	if len(fields) != 2 {
		return fmt.Errorf("%d values; want two: a staleness and its count", len(fields))
	}
	count, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return fmt.Errorf("%q; want a count, a whole number from 0", fields[1])
	}
	if missing := delay + 1 - len(t.weights); missing > 0 {
		t.weights = append(t.weights, make([]float64, missing)...)
	}
	t.weights[delay] += float64(count)
	return nil
}

// WriteCounts writes a trace with the count of each staleness, as histogram.Histogram.All yields them, after
// a comment of one line.
func WriteCounts(w io.Writer, comment string, counts iter.Seq2[int, uint64]) error {
	if _, err := fmt.Fprintf(w, "# %s\n%s\n", comment, countsHeader); err != nil {
		return err
	}
	for staleness, count := range counts {
		if _, err := fmt.Fprintf(w, "%d %d\n", staleness, count); err != nil {
			return err
		}
	}
	return nil
}

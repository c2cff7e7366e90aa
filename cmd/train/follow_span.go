package main

import (
	"fmt"
	"math"
	"strconv"

	"tandem/runtime/train"
)

// span is how well the rows of one block, or of several in a row, were predicted before they were trained on:
// means by rows.
type span struct {
	before, rows int     // before: since the beginning of the stream
	score        float64 // AUC within a block, or R²; NaN if no block has one
	scored       int     // rows of the blocks that have a score
	loss         float64 // log loss, or RMSE
	// predicted and observed are the mean prediction and the mean label.
	predicted, observed float64
}

// newSpan returns the span of a label of a block.
func newSpan(before, rows int, h *train.BlockHead) span {
	s := span{before: before, rows: rows, score: h.Score(), loss: h.Loss(), predicted: h.Predicted,
		observed: h.Observed}
	if s.score == s.score {
		s.scored = rows
	}
	return s
}

// calibration returns the mean prediction as a share of the mean label, which is 1 at best.
func (s *span) calibration() float64 { return s.predicted / s.observed }

// add adds the span of the rows that follow.
func (s *span) add(next span) {
	if s.rows == 0 {
		*s = next
		return
	}
	mean := func(a, b float64, m, n int) float64 {
		switch {
		case n == 0:
			return a
		case m == 0:
			return b
		}
		return (a*float64(m) + b*float64(n)) / float64(m+n)
	}
	s.score = mean(s.score, next.score, s.scored, next.scored)
	s.loss = mean(s.loss, next.loss, s.rows, next.rows)
	s.predicted = mean(s.predicted, next.predicted, s.rows, next.rows)
	s.observed = mean(s.observed, next.observed, s.rows, next.rows)
	s.rows, s.scored = s.rows+next.rows, s.scored+next.scored
}

// fields returns the span as fields of progress.csv.
func (s *span) fields() []string {
	fields := []string{strconv.Itoa(s.before), strconv.Itoa(s.rows)}
	for _, x := range []float64{s.score, s.loss, s.predicted, s.observed} {
		fields = append(fields, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return fields
}

// parseSpan reads what fields returns.
func parseSpan(fields []string) (s span, err error) {
	var numbers [6]float64
	for i := range numbers {
		if numbers[i], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return s, err
		}
	}
	s = span{before: int(numbers[0]), rows: int(numbers[1]), score: numbers[2], loss: numbers[3],
		predicted: numbers[4], observed: numbers[5]}
	if s.score == s.score {
		s.scored = s.rows
	}
	return s, nil
}

// spansMost is the number of spans that are kept of a label: of a training without an end, too.
const spansMost = 1000

// spans are the spans of a label since the beginning, one after another.
type spans []span

// add adds a span. Where there are too many, each two become one.
func (s *spans) add(next span) {
	if *s = append(*s, next); len(*s) < spansMost {
		return
	}
	half := (*s)[:0]
	for i := 0; i < len(*s); i += 2 {
		one := (*s)[i]
		if i+1 < len(*s) {
			one.add((*s)[i+1])
		}
		half = append(half, one)
	}
	*s = half
}

// all returns all spans as one.
func (s spans) all() (all span) {
	for _, one := range s {
		all.add(one)
	}
	return all
}

// text describes a span in a line. gain and err name its score and its loss.
func (s *span) text(gain, err string) string {
	score := fmt.Sprintf("%s %.4f", gain, s.score)
	if math.IsNaN(s.score) {
		score = "no " + gain
	}
	return fmt.Sprintf("%s, %s %.4f, calibration %.3f", score, err, s.loss, s.calibration())
}

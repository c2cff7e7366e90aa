package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"tandem/algo/exec/evaluation"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/internal/cli"
	"tandem/sim/cost"
)

// digits writes a number above 0 with three digits, as 0.00123, 12.3 or 12345.
func digits(x float64) string {
	if x <= 0 {
		return "0"
	}
	return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(x)))), 64)
}

// hex writes a digest.
func hex(digest uint64) string { return fmt.Sprintf("%016x", digest) }

// predictionsOf returns the predictions within the trainings, for the parts of the report that
// need no training.
func predictionsOf(cells []*cell) *result {
	r := &result{}
	for _, l := range cells {
		r.predictions = append(r.predictions,
			prediction{mode: l.mode, gpus: l.gpus, answer: answer{Result: l.middle().answer}})
	}
	return r
}

func (q *request) writeTraining(w io.Writer, cells []*cell) error {
	seconds := "at the middle of every range (--spread adds the ends)"
	if q.spread {
		seconds = "with the range of trainings at the worst and best ends of every unknown quantity"
	}
	q.writeTitle(w)
	cli.Paragraph(w, fmt.Sprintf("Trained for real; seconds are simulated, %s.", seconds), "")
	fmt.Fprintf(w, "Matrix products by %s.\n", q.multiplier().Name())
	r := predictionsOf(cells)
	for _, part := range []func() error{
		func() error { return q.writeTrained(w, cells) },
		func() error { return q.writeTarget(w, cells) },
		func() error { return q.writeCurves(w, cells) },
		func() error { return q.writeSlow(w, r) }, func() error { return q.writeFaults(w, r) },
		func() error { return q.writeResources(w, r) },
		func() error { return q.writeStaleness(w, r) },
		func() error { return q.writeDropped(w, r) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	writeCounts(w, cells[0].middle().answer.Assumptions, "sim run --parameters")
	_, err := fmt.Fprintf(w, "\nTo repeat: %s\n", q.command)
	return err
}

// writeTrained prints the result of each training.
func (q *request) writeTrained(w io.Writer, cells []*cell) error {
	t := cli.Table{Header: []string{"mode", q.unitName(), "simulated s"}, Words: 1}
	if q.spread {
		t.Header = append(t.Header, "range of s", "AUC", "AUC at the ends")
	} else {
		t.Header = append(t.Header, "AUC")
	}
	t.Header = append(t.Header, "log loss", "network digest", "rows digest")
	for _, l := range cells {
		m := l.middle()
		row := []string{l.mode, strconv.Itoa(l.gpus), digits(m.seconds())}
		if q.spread {
			low, high := l.seconds()
			row = append(row, digits(low)+" to "+digits(high), fmt.Sprintf("%.4f", m.end().AUC),
				fmt.Sprintf("%.4f, %.4f", l.trainings[1].end().AUC, l.trainings[2].end().AUC))
		} else {
			row = append(row, fmt.Sprintf("%.4f", m.end().AUC))
		}
		t.Rows = append(t.Rows, append(row,
			fmt.Sprintf("%.4f", m.end().LogLoss), hex(m.trained.DenseDigest), hex(m.trained.RowsDigest)))
	}
	if err := t.WriteText(w); err != nil {
		return err
	}
	cli.Paragraph(w, "Log loss is in nats. Digests do not depend on --workers; equal digests mean equal "+
		"bits.", "")
	return nil
}

// dollarsFor returns the price of simulated seconds on a number of GPUs.
func (q *request) dollarsFor(gpus int, seconds float64) float64 {
	return q.dollars * float64(gpus) * seconds / 3600
}

// writeTarget prints the time to the target AUC, if there is one.
func (q *request) writeTarget(w io.Writer, cells []*cell) error {
	if q.target == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nTo an AUC of %v, by the first evaluation that reaches it:\n", q.target)
	t := cli.Table{Header: []string{"mode", q.unitName(), "simulated s", "samples"}, Words: 1}
	if q.spread {
		t.Header = append(t.Header, "range of s")
	}
	if q.dollars > 0 {
		t.Header = append(t.Header, "$")
	}
	for _, l := range cells {
		row := []string{l.mode, strconv.Itoa(l.gpus), "not reached", "–"}
		dollars := "–"
		if p := l.middle().reached(q.target); p != nil {
			row[2], row[3], dollars = digits(p.Seconds), strconv.Itoa(p.Samples),
				digits(q.dollarsFor(l.gpus, p.Seconds))
		}
		if q.spread {
			span := "not reached at every end"
			if low, high, all := l.secondsTo(q.target); all {
				span = digits(low) + " to " + digits(high)
			}
			row = append(row, span)
		}
		if q.dollars > 0 {
			row = append(row, dollars)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.WriteText(w)
}

// writeCurves prints four points of every curve.
func (q *request) writeCurves(w io.Writer, cells []*cell) error {
	every := cells[0].middle().every.String()
	for _, l := range cells {
		if l.middle().every.String() != every {
			every = "few steps"
		}
	}
	fmt.Fprintf(w, "\nAUC at simulated seconds, evaluated every %s of rank 0; the table has the last of "+
		"each quarter.\n"+
		"Evaluation reads rows without creating them and takes no simulated time.\n", every)
	t := cli.Table{Header: []string{"mode", q.unitName(), "1st quarter", "2nd", "3rd", "trained"}, Words: 1}
	for _, l := range cells {
		row := []string{l.mode, strconv.Itoa(l.gpus)}
		for quarter := 1; quarter <= 4; quarter++ {
			text := "–"
			if p := l.middle().before(quarter * l.middle().end().Step / 4); p != nil {
				text = fmt.Sprintf("%.4f at %s", p.AUC, digits(p.Seconds))
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.WriteText(w)
}

// trainingDocument is the JSON object of a training.
type trainingDocument struct {
	Job         string            `json:"job"`
	Command     string            `json:"command"`
	BatchPerGPU int               `json:"batch_per_gpu"`
	Engine      string            `json:"engine"` // what multiplied the matrices
	Runs        []cellRecord      `json:"runs"`
	Assumptions []cost.Assumption `json:"assumptions"`
}

// cellRecord is a mode on a number of GPUs.
type cellRecord struct {
	Mode      string           `json:"mode"`
	GPUs      int              `json:"gpus"`
	Trainings []trainingRecord `json:"trainings"` // the middle of all ranges first
}

// trainingRecord is one training. Seconds are simulated.
type trainingRecord struct {
	// −1 for the worst ends, 0 for the middle, 1 for the best ends
	Position    float64            `json:"position"`
	Seconds     float64            `json:"seconds"`
	AUC         float64            `json:"auc"`
	LogLoss     float64            `json:"log_loss"` // nats
	DenseDigest string             `json:"dense_digest"`
	RowsDigest  string             `json:"rows_digest"`
	Rows        int                `json:"rows"`
	Staleness   pace.Staleness     `json:"staleness"`
	Faults      *fault.Counts      `json:"faults,omitempty"` // what the faults of the job have done
	Target      *targetRecord      `json:"target,omitempty"`
	Every       string             `json:"evaluated_every"`
	Curve       []evaluation.Point `json:"curve"`
}

// targetRecord is when an AUC was reached. Its pointers are nil if it was not.
type targetRecord struct {
	AUC     float64  `json:"auc"`
	Seconds *float64 `json:"seconds"`
	Samples *int     `json:"samples"`
	Dollars *float64 `json:"dollars,omitempty"`
}

func (q *request) writeTrainingJSON(w io.Writer, cells []*cell) error {
	d := trainingDocument{
		Job: q.job.Name, Command: q.command, BatchPerGPU: q.batch, Engine: q.multiplier().Name(),
		Assumptions: cells[0].middle().answer.Assumptions,
	}
	for _, l := range cells {
		record := cellRecord{Mode: l.mode, GPUs: l.gpus}
		for _, t := range l.trainings {
			record.Trainings = append(record.Trainings, trainingRecord{
				Position: t.position, Seconds: t.seconds(), AUC: t.end().AUC, LogLoss: t.end().LogLoss,
				DenseDigest: hex(t.trained.DenseDigest), RowsDigest: hex(t.trained.RowsDigest),
				Rows:      t.trained.Rows,
				Staleness: t.answer.Staleness, Faults: q.counts(&t.answer), Target: q.targetOf(l, t),
				Every: t.every.String(), Curve: t.points,
			})
		}
		d.Runs = append(d.Runs, record)
	}
	return printJSON(w, d)
}

// targetOf returns when a training reached the target AUC; nil if there is no target.
func (q *request) targetOf(l *cell, t *training) *targetRecord {
	if q.target == 0 {
		return nil
	}
	r := &targetRecord{AUC: q.target}
	if p := t.reached(q.target); p != nil {
		r.Seconds, r.Samples = &p.Seconds, &p.Samples
		if q.dollars > 0 {
			dollars := q.dollarsFor(l.gpus, p.Seconds)
			r.Dollars = &dollars
		}
	}
	return r
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"tandem/algo/exec/evaluation"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/internal/cli"
	"tandem/sim/cluster"
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

// outcomes are the lessons as predictions, for those parts of a report that ask
// for no numbers.
func outcomes(lessons []*lesson) *result {
	r := &result{}
	for _, l := range lessons {
		r.outcomes = append(r.outcomes, outcome{mode: l.mode, gpus: l.gpus, answer: l.middle().answer})
	}
	return r
}

func (q *question) writeLessons(w io.Writer, lessons []*lesson) error {
	seconds := "at the middle of every range (--spread adds the ends)"
	if q.spread {
		seconds = "with the range of trainings at the worst and best ends of every unknown quantity"
	}
	fmt.Fprintf(w, "%s on %s; %d samples a batch and rank%s.\nTrained for real; seconds are simulated, %s.\n",
		q.job.Name, q.where(), q.batch, q.modeSettings(), seconds)
	fmt.Fprintf(w, "Numbers by %s.\n", q.multiplier().Name())
	r := outcomes(lessons)
	for _, part := range []func() error{
		func() error { return q.writeTrained(w, lessons) },
		func() error { return q.writeTarget(w, lessons) },
		func() error { return q.writeCurves(w, lessons) },
		func() error { return q.writeFaults(w, r) },
		func() error { return q.writeResources(w, r) },
		func() error { return q.writeStaleness(w, r) },
		func() error { return q.writeAssumptions(w, r) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\nAgain: %s\n", q.command)
	return err
}

// writeTrained prints what each training has come to.
func (q *question) writeTrained(w io.Writer, lessons []*lesson) error {
	t := cli.Table{Header: []string{"mode", q.unitName(), "simulated s"}, Words: 1}
	if q.spread {
		t.Header = append(t.Header, "range", "AUC", "AUC at the ends")
	} else {
		t.Header = append(t.Header, "AUC")
	}
	t.Header = append(t.Header, "log loss (nats)", "digest of the network", "of the rows")
	for _, l := range lessons {
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
	_, err := fmt.Fprintln(w, "Digests are the same for any number of --workers; equal ones are equal bits.")
	return err
}

// dollarsFor returns what so many simulated seconds on GPUs cost.
func (q *question) dollarsFor(gpus int, seconds float64) float64 {
	return q.dollars * float64(gpus) * seconds / 3600
}

// writeTarget prints how long the wanted AUC took, if one is wanted.
func (q *question) writeTarget(w io.Writer, lessons []*lesson) error {
	if q.target == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nTo an AUC of %v: the first evaluation that has it.\n", q.target)
	t := cli.Table{Header: []string{"mode", q.unitName(), "simulated s", "samples"}, Words: 1}
	if q.spread {
		t.Header = append(t.Header, "range of s")
	}
	if q.dollars > 0 {
		t.Header = append(t.Header, "$")
	}
	for _, l := range lessons {
		row := []string{l.mode, strconv.Itoa(l.gpus), "not reached", "–"}
		dollars := "–"
		if p := l.middle().reached(q.target); p != nil {
			row[2], row[3], dollars = digits(p.Seconds), strconv.Itoa(p.Samples), digits(q.dollarsFor(l.gpus, p.Seconds))
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
func (q *question) writeCurves(w io.Writer, lessons []*lesson) error {
	every := lessons[0].middle().every.String()
	for _, l := range lessons {
		if l.middle().every.String() != every {
			every = "some steps, as many points for each"
		}
	}
	fmt.Fprintf(w, "\nAUC at simulated seconds, evaluated every %s, as rank 0 counts; shown is the last of each quarter.\n"+
		"Evaluation reads rows without creating them and takes no simulated time.\n", every)
	t := cli.Table{Header: []string{"mode", q.unitName(), "1st quarter", "2nd", "3rd", "trained"}, Words: 1}
	for _, l := range lessons {
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

// lessonsDocument is the answer for programs.
type lessonsDocument struct {
	Job         string               `json:"job"`
	Command     string               `json:"command"`
	BatchPerGPU int                  `json:"batch_per_gpu"`
	Engine      string               `json:"engine"` // what multiplied the matrices
	Runs        []lessonRecord       `json:"runs"`
	Assumptions []cluster.Assumption `json:"assumptions"`
}

// lessonRecord is a mode on a number of GPUs.
type lessonRecord struct {
	Mode      string           `json:"mode"`
	GPUs      int              `json:"gpus"`
	Trainings []trainingRecord `json:"trainings"` // the middle of all ranges first
}

// trainingRecord is one training. Seconds are simulated.
type trainingRecord struct {
	Position    float64            `json:"position"` // −1 for the worst ends, 0 for the middle, 1 for the best ends
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

// targetRecord is when an AUC was reached; null if it was not.
type targetRecord struct {
	AUC     float64  `json:"auc"`
	Seconds *float64 `json:"seconds"`
	Samples *int     `json:"samples"`
	Dollars *float64 `json:"dollars,omitempty"`
}

func (q *question) writeLessonsJSON(w io.Writer, lessons []*lesson) error {
	d := lessonsDocument{
		Job: q.job.Name, Command: q.command, BatchPerGPU: q.batch, Engine: q.multiplier().Name(),
		Assumptions: lessons[0].middle().answer.Assumptions,
	}
	for _, l := range lessons {
		record := lessonRecord{Mode: l.mode, GPUs: l.gpus}
		for _, t := range l.trainings {
			record.Trainings = append(record.Trainings, trainingRecord{
				Position: t.position, Seconds: t.seconds(), AUC: t.end().AUC, LogLoss: t.end().LogLoss,
				DenseDigest: hex(t.trained.DenseDigest), RowsDigest: hex(t.trained.RowsDigest), Rows: t.trained.Rows,
				Staleness: t.answer.Staleness, Faults: q.counts(&t.answer), Target: q.targetOf(l, t), Every: t.every.String(), Curve: t.points,
			})
		}
		d.Runs = append(d.Runs, record)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(d)
}

// targetOf returns when a training had the wanted AUC; nil if none is wanted.
func (q *question) targetOf(l *lesson, t *training) *targetRecord {
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

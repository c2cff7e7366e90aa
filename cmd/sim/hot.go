package main

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/predict"
)

// hotRows is what a report says of hot rows.
type hotRows struct {
	Share      float64 `json:"share"` // of the samples that contain a hot row, at least; 0 if it is automatic
	Most       int     `json:"most,omitempty"`
	Rows       float64 `json:"rows"`
	ShareOfIDs float64 `json:"share_of_ids"` // of rows that ids name, those that are hot
	Bucket     int64   `json:"bucket_bytes"` // of the all-reduce
	// Pause is the time to choose hot rows again; nil if they are chosen once.
	Pause *hotPause `json:"pause,omitempty"`
}

// hotPause is what a report says of a pause to choose hot rows again. Times are in milliseconds.
type hotPause struct {
	Every    int     `json:"every"` // steps
	Pipeline float64 `json:"pipeline_ms"`
	Count    float64 `json:"count_ms"`
	Rows     float64 `json:"rows_ms"`
	Share    float64 `json:"share"` // of the time of the training
}

// newHotPause returns what a report says of a pause, in a training with steps of a time.
func newHotPause(p *predict.HotPause, step unit.Tick) *hotPause {
	between, pause := float64(p.Every)*step.Seconds(), p.Time().Seconds()
	return &hotPause{p.Every, *ms(p.Pipeline), *ms(p.Count), *ms(p.Rows), pause / (between + pause)}
}

// lines say what pauses cost.
func (h *hotPause) lines() []string {
	more := (h.Pipeline + h.Count + h.Rows) * 1000 / float64(h.Every)
	return []string{
		fmt.Sprintf("chosen again every %d steps, for up to %s ms in 1,000 steps (%s %%), not in the "+
			"throughput", h.Every, digits(more), digits(100*h.Share)),
		fmt.Sprintf("each time %s ms to drain and fill the pipeline, %s to count samples, up to %s to move "+
			"rows", digits(h.Pipeline), digits(h.Count), digits(h.Rows)),
	}
}

// hotRows returns what a report says of the hot rows of the job, at the middle of what is not known; nil if
// the job has none.
func (d *detailed) hotRows() *hotRows {
	j := d.job
	w := &j.Workload
	if !j.HasHotRows() || w.Hot == nil {
		return nil
	}
	h := &hotRows{Share: j.Job.Rows.Hot.Share, Most: j.Job.Rows.Hot.Most, Rows: w.Hot.Rows,
		Bucket: int64(w.HotBucket())}
	if w.HasHotRows() {
		batch := j.Training.GlobalBatch
		h.ShareOfIDs = w.Hot.Batch(batch).Occurrences / (w.RowsNamed() * float64(batch))
	}
	if d.hotPause != nil {
		h.Pause = newHotPause(d.hotPause, d.Mid.StepTime)
	}
	return h
}

// text describes hot rows in a line.
func (h *hotRows) text() string {
	return fmt.Sprintf("%s rows on every rank, which %.0f %% of the ids name", count(h.Rows),
		100*h.ShareOfIDs)
}

// hotParameters returns the settings of hot rows; none if the job has no hot rows.
func (q *request) hotParameters(j *predict.Job) (list []parameter) {
	if !j.HasHotRows() {
		return nil
	}
	type setting struct {
		name  string
		value any
	}
	hot := &j.Job.Rows.Hot
	least := setting{"hot.share", hot.Share}
	if hot.Auto {
		least = setting{"hot.auto", true}
	}
	settings := []setting{least, {"hot.most", hot.Most}}
	if hot.Every > 0 {
		settings = append(settings, setting{"hot.every", hot.Every})
	}
	for _, x := range settings {
		text := fmt.Sprint(x.value)
		list = append(list, parameter{x.name, x.value, x.value, x.value, "", text, quantity.Default,
			"rows.hot of the job"})
	}
	return list
}

// modesWith returns those modes of a list that can have the rows of a job on ranks, if it has hot rows.
func modesWith(j job.Job, modes []string) (suited []string) {
	for _, mode := range modes {
		if one := j.InMode(mode); !one.HasHotRows() || one.ValidateTimed() == nil {
			suited = append(suited, mode)
		}
	}
	return suited
}

// checkHotModes returns the error of the first mode that cannot have hot rows, if the job has some.
func (q *request) checkHotModes() error {
	for _, mode := range q.modes {
		if j := q.jobFor(mode, q.gpus[0]); j.HasHotRows() {
			if err := j.ValidateTimed(); err != nil {
				return err
			}
		}
	}
	return nil
}

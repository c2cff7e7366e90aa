package predict

import (
	"fmt"
	"maps"
	"strconv"

	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/unit"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/system"
)

// The settings of hot rows, which Choice.Set has beside parameters: rows.hot of a job file.
const (
	hotShare = "hot.share"
	hotMost  = "hot.most"
	hotEvery = "hot.every"
)

// SetHot sets hot rows as hot.share, hot.most and hot.every among settings say, and returns the other
// settings. A share replaces one that is chosen automatically, and 0 removes all that the job says of hot
// rows. Errors wrap ErrChoice.
func SetHot(hot *job.Hot, settings map[string]string) (others map[string]string, err error) {
	others = maps.Clone(settings)
	delete(others, hotShare)
	delete(others, hotMost)
	delete(others, hotEvery)
	if text, given := settings[hotShare]; given {
		if hot.Share, err = strconv.ParseFloat(text, 64); err != nil || !(hot.Share >= 0 && hot.Share <= 1) {
			return nil, fmt.Errorf("%w: %s = %q; want the least share of the samples that contain a hot "+
				"row, above 0 and at most 1, or 0 for no hot rows", ErrChoice, hotShare, text)
		}
		if hot.Auto = false; hot.Share == 0 {
			*hot = job.Hot{}
		}
	}
	if text, given := settings[hotMost]; given {
		if hot.Most, err = strconv.Atoi(text); err != nil || hot.Most < 0 || hot.Most > job.RowsMax {
			return nil, fmt.Errorf("%w: %s = %q; want a number of rows, at most %d, or 0 for no limit",
				ErrChoice, hotMost, text, job.RowsMax)
		}
	}
	if text, given := settings[hotEvery]; given {
		if hot.Every, err = strconv.Atoi(text); err != nil || hot.Every < 0 || hot.Every > job.StepsMax {
			return nil, fmt.Errorf("%w: %s = %q; want a number of steps, at most %d, or 0 for one choice of "+
				"hot rows", ErrChoice, hotEvery, text, job.StepsMax)
		}
	}
	return others, nil
}

// checkHotRows returns an error if the system or the model has no hot rows, and the job has some, or if they
// are on GPUs.
func (j *Job) checkHotRows() error {
	switch {
	case j.HasTiers():
		return cost.ErrTiers
	case !j.HasHotRows():
		return nil
	case j.Hardware.System.Architecture == system.StepGraph:
		return fmt.Errorf("%w: rows.hot needs a system with embedding PSs, and %s keeps all rows on the "+
			"accelerators; leave rows.hot out, or choose another system", cost.ErrIncompatible,
			j.Hardware.System.Name)
	case j.Model != nil && j.Job.Rows.Hot.Auto:
		return fmt.Errorf("%w: rows.hot.auto counts the data of a job, and a model has none; set %s",
			ErrChoice, hotShare)
	case j.Model != nil && len(j.Job.Rows.Hot.Slots) > 0:
		return fmt.Errorf("%w: rows.hot.slots names slots of the data of a job, and a model has none; set "+
			"%s, or leave rows.hot.slots out", ErrChoice, hotShare)
	case j.Model != nil:
		return cost.CheckHotModel(j.Model)
	}
	return nil
}

// HotPause is the time for which a training stands still to choose its hot rows again (job.Hot.Every).
type HotPause struct {
	Every    int       // steps from one pause to the next
	Pipeline unit.Tick // lost while the roles drain, and until new ones have filled the pipeline
	Count    unit.Tick // to count the samples since the pause before, or frequent.SamplesAgain of them
	Rows     unit.Tick // to move all hot rows: a choice moves as many at most
}

// Time returns the whole time of a pause.
func (h *HotPause) Time() unit.Tick { return h.Pipeline + h.Count + h.Rows }

// PauseForHotRows predicts how long a pause to choose hot rows again is, at the middle of the box and without
// jitter and faults; nil if the job chooses them once.
func PauseForHotRows(j *Job, improve map[string]float64) (*HotPause, error) {
	every := j.Job.Rows.Hot.Every
	if !j.HasHotRows() || every == 0 {
		return nil, nil
	}
	pipeline, err := Pipeline(j, improve)
	if err != nil {
		return nil, err
	}
	t := j.Job
	t.Faults = fault.Plan{}
	p := cost.NewPrices(j.Hardware.Resolve(), &t, j.Layout, &j.Workload, true)
	return &HotPause{
		Every: every, Pipeline: pipeline,
		Count: p.CountHotRows(min(every*t.Training.GlobalBatch, frequent.SamplesAgain(&t.Rows.Hot))),
		Rows:  p.MoveHotRows(),
	}, nil
}

// Pipeline returns the time that a job with roles loses while they drain, and until new ones have filled the
// pipeline, without jitter and faults. It is that of a whole simulated run, less that of its steps at the
// rate at which they settle.
func Pipeline(j *Job, improve map[string]float64) (unit.Tick, error) {
	t := j.Job
	t.Faults = fault.Plan{}
	o := cluster.Options{Improve: improve, Observer: ignored{}, WarmUp: t.Depth() + settleSteps,
		Measured: settleSteps + t.Depth()}
	r, err := cluster.Run(j.Hardware, t, j.Layout, j.Workload, o)
	if err != nil {
		return 0, err
	}
	steps := o.WarmUp + o.Measured + r.Depth
	return max(0, r.Elapsed-r.StepTime.Scale(float64(steps))), nil
}

// settleSteps is the number of steps after which a run of roles has settled once its pipeline is full.
const settleSteps = 8

// ignored is an observer for which a run is simulated to its end.
type ignored struct{}

// Observe implements event.Observer.
func (ignored) Observe(event.Record) {}

package main

import (
	"strings"
	"time"

	"tandem/algo/unit"
	"tandem/sim/goodput"
)

// goodputDocument is the JSON object of a training that fails. Times are in seconds, and shares are parts of
// the time.
type goodputDocument struct {
	Job            string            `json:"job"`
	Mode           string            `json:"mode"`
	GPUs           int               `json:"gpus"`
	Policy         string            `json:"policy"`
	Throughput     float64           `json:"throughput_samples_per_s"` // if nothing fails or is saved
	Goodput        float64           `json:"goodput_samples_per_s"`
	Interval       [2]float64        `json:"goodput_interval"` // of single trainings
	Share          float64           `json:"useful_share"`
	ShareInterval  [2]float64        `json:"useful_share_interval"` // of single trainings
	Lost           lostShares        `json:"lost_share"`
	DollarsPerGiga *float64          `json:"cost_usd_per_billion_samples"` // null if a price is not known
	SpotPays       *float64          `json:"spot_pays_below"`              // share of the price on demand
	Every          *float64          `json:"checkpoint_every_s"`           // null without checkpoints
	Pause          float64           `json:"pause_s"`
	Write          float64           `json:"write_s"` // beside training
	Read           float64           `json:"read_s"`
	Bytes          *int64            `json:"checkpoint_bytes"` // null if both times were given
	Best           *bestInterval     `json:"best"`             // null without checkpoints
	Intervals      []intervalShare   `json:"intervals"`
	Failures       []failureDocument `json:"failures"`
	Trainings      int               `json:"trainings"`
	GivenUp        int               `json:"trainings_given_up"` // failures come too fast
	Repeats        int               `json:"restarts_with_one_checkpoint"`
	Seed           uint64            `json:"seed"`
	WallSeconds    float64           `json:"wall_s"`
	Reproduce      string            `json:"reproduce"`
}

type lostShares struct {
	Saving  float64 `json:"saving"`
	Again   float64 `json:"steps_done_again"`
	Notice  float64 `json:"detection"`
	Restart float64 `json:"restart"`
	Replay  float64 `json:"replay"`
}

type intervalShare struct {
	Every float64 `json:"every_s"`
	Share float64 `json:"useful_share"`
}

type bestInterval struct {
	intervalShare
	Flat  [2]float64    `json:"within_1_percent_s"`
	Young intervalShare `json:"young"`
	Daly  intervalShare `json:"daly"`
	Auto  float64       `json:"auto_useful_share"` // where the runtime chooses
}

type failureDocument struct {
	Name    string  `json:"name"`
	Count   int     `json:"count"`
	Between float64 `json:"mtbf_s"`
	Follows string  `json:"follows"`
	Deaths  float64 `json:"per_training"`
}

// document returns the prediction as a JSON object.
func (d *failingReport) document() *goodputDocument {
	q, e, p := d.request, &d.estimate, d.plan
	x := &goodputDocument{Job: d.job.Name, Mode: q.modes[0], GPUs: d.job.Roles.Ranks,
		Policy: strings.Join(q.failures.policy, ","), Throughput: d.Mid.Throughput,
		Share: e.Share, Pause: p.Pause.Seconds(), Write: p.Write.Seconds(), Read: p.Read.Seconds(),
		Lost: lostShares{e.Lost[goodput.Saving], e.Lost[goodput.Again], e.Lost[goodput.Noticing],
			e.Lost[goodput.Restarting], e.Lost[goodput.Replaying]},
		Trainings: e.Runs, GivenUp: e.GivenUp, Repeats: e.Repeats, Seed: q.seed,
		Intervals: []intervalShare{}, Failures: []failureDocument{}, Reproduce: q.command}
	x.Goodput, x.Interval[0], x.Interval[1] = d.rates()
	x.ShareInterval[0], x.ShareInterval[1] = goodput.Range(e.Shares)
	x.SpotPays = d.pays
	if d.price != nil && x.Goodput > 0 {
		dollars := *d.price / 3600 / x.Goodput * 1e9
		x.DollarsPerGiga = &dollars
	}
	if p.Every > 0 {
		every := p.Every.Seconds()
		x.Every = &every
	}
	if d.size != nil {
		bytes := int64(d.size.Whole)
		x.Bytes = &bytes
	}
	for _, point := range d.points {
		x.Intervals = append(x.Intervals, intervalShare{point.Every.Seconds(), point.Share})
	}
	if len(d.points) > 0 {
		x.Best = d.bestInterval()
	}
	for i, k := range p.Kinds {
		x.Failures = append(x.Failures, failureDocument{k.Name, k.Count, k.Between.Seconds(),
			k.Consequence.String(), e.Deaths[i]})
	}
	x.WallSeconds = time.Since(d.start).Seconds()
	return x
}

// bestInterval returns the best interval beside those of formulas.
func (d *failingReport) bestInterval() *bestInterval {
	p, best := d.plan, d.points[d.best]
	least, most := goodput.Within(d.points, d.best, flat)
	at := func(every unit.Tick) intervalShare { return intervalShare{every.Seconds(), d.shareAt(every)} }
	return &bestInterval{intervalShare{best.Every.Seconds(), best.Share},
		[2]float64{least.Seconds(), most.Seconds()}, at(goodput.Young(p.Pause, p.Between())),
		at(goodput.Daly(p.Pause, p.Between())), d.auto}
}

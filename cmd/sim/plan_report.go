package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/plan"
	"tandem/sim/predict"
)

// writeText writes the plan for a reader.
func (d *planned) writeText(w io.Writer) error {
	cli.Paragraph(w, d.title(), "  ")
	price := "$"
	if d.train == 0 {
		price = "$ an hour"
	}
	fmt.Fprintf(w, "\n%-2s %9s %9s %9s  %-18s %8s  %s\n", "", price, "time", "samples/s", "interval",
		"cheapest", "bound by")
	for i, o := range d.front {
		span := rate(o.whole.Interval.Low) + " to " + rate(o.whole.Interval.High)
		fmt.Fprintf(w, "%-2d %9s %9s %9s  %-18s %6.0f %%  %s\n", i+1, digits(o.Cost), d.timeOf(o.Throughput),
			rate(d.samplesOf(o)), span, 100*o.cheapest, o.whole.Mid.Bottlenecks[0].Resource)
	}
	fmt.Fprintln(w)
	for i, o := range d.front {
		fmt.Fprintf(w, "%-2d %s\n", i+1, cli.WrapAt(d.space.Describe(o.Place), "   ", 3, cli.TextColumns(w)))
	}
	fmt.Fprintln(w)
	for _, text := range d.divisions() {
		cli.Paragraph(w, text, "  ")
	}
	for _, text := range []string{d.curveText(), d.turns(), d.batches(), d.memory(), d.stale(), d.prices()} {
		if text != "" {
			cli.Paragraph(w, text, "  ")
		}
	}
	cli.Paragraph(w, fmt.Sprintf("%d clusters were simulated of %d. Intervals are the 1st to 99th "+
		"percentile over %d points of what is not known, the same for all.", d.search.Simulations(), d.size(),
		d.samples), "  ")
	if d.out == "" {
		fmt.Fprintln(w, "\n--out cluster.yaml writes the cheapest, for sim run --preset ./cluster.yaml.")
	} else {
		detail := "In detail"
		if d.space.Division(d.front[0].Place) != nil {
			detail += ", with the slots of the job file as on cluster 1"
		}
		fmt.Fprintf(w, "\n%s: %s\n", detail, d.commandOf())
	}
	_, err := fmt.Fprintf(w, "To repeat: %s\n", d.command)
	return err
}

// title says what was asked for.
func (d *planned) title() string {
	switch {
	case d.curve != nil && d.within == 0:
		return fmt.Sprintf("%s until an AUC of %v: the cheapest cluster, and faster ones.", d.model,
			d.targetAUC)
	case d.curve != nil:
		return fmt.Sprintf("%s until an AUC of %v within %s: the cheapest cluster, and faster ones.", d.model,
			d.targetAUC, span(d.within))
	case d.train == 0:
		return fmt.Sprintf("%s at %s samples/s or more: the cheapest cluster an hour, and faster ones.",
			d.model, rate(d.need))
	case d.within == 0:
		return fmt.Sprintf("%s samples of %s: the cheapest cluster, and faster ones.", amount(d.train),
			d.model)
	}
	return fmt.Sprintf("%s samples of %s within %s, which is %s samples/s: the cheapest cluster, and faster "+
		"ones.", amount(d.train), d.model, span(d.within), rate(d.need))
}

// samplesOf returns the samples/s of a cluster, of its own mode.
func (d *planned) samplesOf(o *option) float64 {
	return o.Throughput * d.curve.work(o.job.Training.Mode)
}

// amount writes a number of samples, as 1e9 or 2.5e+08.
func amount(x float64) string { return strings.Replace(fmt.Sprintf("%.3g", x), "e+0", "e", 1) }

// timeOf returns how long a cluster trains.
func (d *planned) timeOf(throughput float64) string {
	if d.train == 0 {
		return "–"
	}
	return span(unit.Tick(d.train / throughput * float64(unit.Second)))
}

// size returns the number of clusters to choose from.
func (d *planned) size() (n int) {
	for family := range d.space.Families() {
		places := len(d.space.Servers(family))
		for _, levels := range d.space.Hosts(family) {
			places *= levels
		}
		n += places
	}
	return n
}

// turns says how sure the order is.
func (d *planned) turns() string {
	first := d.front[0]
	text := fmt.Sprintf("Cluster 1 is fast enough at %.0f %% of the points of what is not known, and the "+
		"cheapest of these at %.0f %%", 100*first.enough, 100*first.cheapest)
	if n := first.whole.Unfit(); n > 0 {
		text += fmt.Sprintf("; at %.0f %% the job does not fit it",
			100*float64(n)/float64(len(first.whole.Samples)))
	}
	var other *option
	rival := 0
	for i, o := range d.front[1:] {
		if other == nil || o.cheapest > other.cheapest {
			other, rival = o, i+2
		}
	}
	if other == nil || other.cheapest == 0 {
		return text + "."
	}
	return text + fmt.Sprintf("; the order can turn: cluster %d is at %.0f %%.", rival, 100*other.cheapest)
}

// batches says how many samples a step has on each cluster.
func (d *planned) batches() string {
	var each []string
	for i, o := range d.front {
		each = append(each, fmt.Sprintf("%d on cluster %d", o.job.Training.GlobalBatch, i+1))
	}
	return "Samples of a step: " + strings.Join(each, ", ") + "; --batch-per-gpu and --global-batch set them."
}

// memory says how full the memory of the cheapest cluster is.
func (d *planned) memory() string {
	j := d.front[0].job
	if g := d.front[0].whole.Mid.Graph; g != nil {
		m := &g.Memory
		used := m.Tables + m.State + m.Dense + m.Activations + m.Buffers + m.Reserve
		return fmt.Sprintf("Memory of cluster 1: %v of %v on the fullest GPU, %v of it rows and their "+
			"optimizer.", used, m.Capacity, m.Tables+m.State) + tiersText(g.Placement)
	}
	u := cost.MemoryUse(j.Hardware.Resolve(), &j.Job, j.Layout, &j.Workload)
	if j.HasRowsOnGPU() {
		text := fmt.Sprintf("Memory of cluster 1: %v of %v on a GPU, %v of it rows and their optimizer",
			u.GPU, u.GPUHas, u.GPURows)
		if on := slotsOnPSs(j); len(on) > 0 {
			text += fmt.Sprintf("; %v of %v on a PS host, for slots %s", u.PS, u.PSHas,
				strings.Join(on, ", "))
		}
		return text + "."
	}
	return fmt.Sprintf("Memory of cluster 1: %v of %v on a PS host, %v of %v on a GPU.", u.PS, u.PSHas, u.GPU,
		u.GPUHas)
}

// divisions says for which clusters slots are left to PSs that the job has on GPUs, and what to set.
func (d *planned) divisions() (texts []string) {
	for i, o := range d.front {
		if division := d.space.Division(o.Place); division != nil {
			texts = append(texts, fmt.Sprintf("Cluster %d: %s; %s.", i+1, division.Setting(),
				division.Instead()))
		}
	}
	if len(texts) > 0 {
		texts = slices.Insert(texts, 0, "Where the rows that the job has on GPUs do not fit them, slots are "+
			"left to PSs, by predicted rates:")
	}
	return texts
}

// slotsOnPSs returns the slots whose rows a job leaves to PSs, where those of others are on GPUs.
func slotsOnPSs(j *predict.Job) (names []string) {
	if !j.MixesPlacements() {
		return nil
	}
	onPSs, _ := j.Workload.GroupsByPlace(&j.Job)
	for _, g := range onPSs {
		names = append(names, g.Slots...)
	}
	return names
}

// stale says how small τ may be.
func (d *planned) stale() string {
	if d.staleness == nil || d.staleness.least == d.staleness.asked {
		return ""
	}
	return fmt.Sprintf("Staleness: τ = %d is as fast on cluster 1 as τ = %d.", d.staleness.least,
		d.staleness.asked)
}

// prices says what the parts of the cheapest cluster cost, and when that was.
func (d *planned) prices() string {
	h := d.front[0].job.Hardware
	var parts []string
	seen := map[string]bool{}
	for _, x := range []struct {
		name  string
		count int
		price *quantity.Value[unit.Dollars]
	}{
		{h.Accelerator.Name, 1, &h.Accelerator.DollarsPerHour}, {h.Server.Name, 1, &h.Server.DollarsPerHour},
		{h.EmbeddingWorkers.Host.Name, h.EmbeddingWorkers.Count.Mid, &h.EmbeddingWorkers.Host.DollarsPerHour},
		{h.EmbeddingPSs.Host.Name, h.EmbeddingPSs.Count.Mid, &h.EmbeddingPSs.Host.DollarsPerHour},
		{h.Loaders.Host.Name, h.Loaders.Count.Mid, &h.Loaders.Host.DollarsPerHour},
	} {
		low, mid, high := x.price.Span()
		key := fmt.Sprint(x.name, mid) // a server and a host of one kind differ with --spot
		if x.count == 0 || seen[key] {
			continue
		}
		seen[key] = true
		text := fmt.Sprintf("%s $ %s", x.name, digits(mid))
		if low < high {
			text += fmt.Sprintf(" (%s to %s)", digits(low), digits(high))
		}
		_, _, date := x.price.Origin()
		parts = append(parts, text+", "+date)
	}
	how := "on demand"
	if d.spot < 1 {
		how = fmt.Sprintf("%.0f %% of those on demand for GPUs and their servers", 100*d.spot)
	}
	return fmt.Sprintf("Prices an hour, %s: %s.", how, strings.Join(parts, "; "))
}

// planDocument is the JSON object of a plan.
type planDocument struct {
	Model       string            `json:"model"`
	Samples     *float64          `json:"train_samples"` // null where a throughput is asked for
	Target      *float64          `json:"target_auc"`    // null without one
	Curve       string            `json:"curve,omitempty"`
	Within      *float64          `json:"within_s"`
	Need        float64           `json:"needed_samples_per_s"`
	Front       []clusterDocument `json:"front"` // the cheapest first
	Simulated   int               `json:"clusters_simulated"`
	Clusters    int               `json:"clusters"`
	Points      int               `json:"samples"`
	Staleness   *int              `json:"staleness_enough"` // of the cheapest; null where none is read
	WallSeconds float64           `json:"wall_s"`
	Reproduce   string            `json:"reproduce"`
}

type clusterDocument struct {
	Name           string               `json:"name"`
	Preset         string               `json:"preset"`
	Accelerator    string               `json:"accelerator"`
	Mode           string               `json:"mode"`
	GPUs           int                  `json:"gpus"`
	Workers        int                  `json:"embedding_worker_hosts"` // 0 with tables on the accelerators
	PSs            int                  `json:"embedding_ps_hosts"`
	PSHost         string               `json:"embedding_ps_host"`
	Loaders        int                  `json:"loader_hosts"`
	SlotsOnPSs     []string             `json:"slots_on_pss,omitempty"`  // where other slots are on GPUs
	Capacity       int                  `json:"rows_capacity,omitempty"` // where it is not that of the job
	Cost           float64              `json:"cost_usd"`                // of all samples, or an hour
	DollarsPerHour float64              `json:"cost_usd_per_hour"`
	Throughput     float64              `json:"throughput_samples_per_s"`
	Interval       *[2]float64          `json:"throughput_interval"`
	Cheapest       float64              `json:"probability_cheapest"`
	Enough         float64              `json:"probability_fast_enough"`
	Bottlenecks    []predict.Bottleneck `json:"bottlenecks"`
}

// document returns the plan as a JSON object.
func (d *planned) document() *planDocument {
	x := &planDocument{Model: d.model, Need: d.need, Simulated: d.search.Simulations(), Clusters: d.size(),
		Points: d.samples, Reproduce: d.command}
	if d.train > 0 {
		x.Samples = &d.train
	}
	if d.curve != nil {
		x.Target, x.Curve = &d.targetAUC, d.curveText()
	}
	if d.within > 0 {
		seconds := d.within.Seconds()
		x.Within = &seconds
	}
	if d.staleness != nil {
		x.Staleness = &d.staleness.least
	}
	for _, o := range d.front {
		one := clusterDocument{Name: d.space.Describe(o.Place), Preset: o.job.Cluster.Preset,
			Accelerator: o.job.Cluster.Accelerator, Mode: o.job.Training.Mode, GPUs: o.job.Roles.Ranks,
			Cost: o.Cost, DollarsPerHour: o.PerHour, Throughput: d.samplesOf(o),
			Interval: pair(o.whole.Interval), Cheapest: o.cheapest, Enough: o.enough,
			Bottlenecks: o.whole.Mid.Bottlenecks, SlotsOnPSs: slotsOnPSs(o.job)}
		if division := d.space.Division(o.Place); division != nil {
			one.Capacity = division.Capacity
		}
		if o.whole.Mid.Roles != nil {
			n := d.space.Numbers(o.Place)
			one.Workers, one.PSs, one.Loaders = n[plan.Workers], n[plan.PSs], n[plan.Loaders]
			one.PSHost = o.job.Cluster.EmbeddingPSs.Profile
		}
		x.Front = append(x.Front, one)
	}
	x.WallSeconds = time.Since(d.start).Seconds()
	return x
}

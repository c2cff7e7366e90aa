package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/graph"
	"tandem/sim/param"
	"tandem/sim/predict"
	"tandem/sim/station"
	"tandem/sim/system"
)

// seedsDefault is the number of seeds behind a confidence interval.
const seedsDefault = 5

// detailed is one prediction with all that goes with it.
type detailed struct {
	request *request
	job     *predict.Job
	start   time.Time
	*predict.Prediction
	efficiency    *float64 // nil if the job fits no smaller number of GPUs
	base          int      // the number of GPUs that it is relative to
	effects       []predict.Effect
	sensitivities []predict.Sensitivity
	price         *float64 // dollars an hour; nil if not known
	noPrice       string   // why it is not known
	hotPause      *predict.HotPause
}

// reportSingle makes one prediction and writes it.
func (q *request) reportSingle(w io.Writer, progress *cli.Progress) error {
	d, err := q.predictSingle(progress)
	if err != nil {
		return err
	}
	if q.trace != "" && d.Mid.Roles == nil {
		return cli.UsageError("leave --staleness-trace out",
			"--staleness-trace: no read is stale with system %s", q.hardware.System.Name)
	}
	q.shown = []prediction{{mode: q.modes[0], gpus: q.gpus[0], answer: answerOf(d.Prediction),
		whole: d.Prediction}}
	if err := q.writeTrace(&result{predictions: q.shown}); err != nil {
		return err
	}
	if q.json {
		return printJSON(w, d.document())
	}
	return d.writeText(w)
}

// predictSingle simulates the job of the request with everything that the report needs.
func (q *request) predictSingle(progress *cli.Progress) (*detailed, error) {
	ctx := context.Background()
	d := &detailed{request: q, start: time.Now(), job: q.question(q.modes[0], q.gpus[0])}
	o := predict.Options{Samples: q.samples, WithoutEnds: true, Seeds: q.seeds, Seed: q.seed, Steps: q.steps,
		Cluster: q.options()}
	show := func(what string) func(done, all int) {
		return func(done, all int) { progress.Show(done, all, what) }
	}
	o.Step, o.Done = show("steps of the first sample"), show("samples")
	var err error
	if d.Prediction, err = predict.Run(ctx, d.job, o); err != nil {
		o = predict.Options{Seed: q.seed, Cluster: q.options(), Steps: q.steps,
			Done: show("divisions of slots")}
		return nil, predict.WithDivision(ctx, d.job, o, err)
	}
	if d.hotPause, err = predict.PauseForHotRows(d.job, o.Cluster.Improve); err != nil {
		return nil, err
	}
	d.price, d.noPrice = q.dollarsPerHour(d.job)
	o = predict.Options{Seed: q.seed, Cluster: q.options()}
	o.Steps = q.steps
	o.Step = show("steps of one server")
	if err := d.scale(ctx, o); err != nil {
		return nil, err
	}
	if q.effects {
		o.Done = show("effects")
		if d.effects, err = predict.Effects(ctx, d.job, o); err != nil {
			return nil, err
		}
	}
	if q.samples > 1 {
		o.Done = show("sensitivities")
		d.sensitivities, err = predict.Sensitivities(ctx, d.job, o)
	}
	return d, err
}

// scale compares the throughput per GPU with that on one GPU or, if the job does not fit that, on one server.
// The base has neither faults nor slow roles.
func (d *detailed) scale(ctx context.Context, o predict.Options) error {
	q, gpus := d.request, d.job.Roles.Ranks
	for _, base := range []int{1, d.job.Cluster.AcceleratorsPerServer} {
		if base < 1 || base > gpus {
			continue
		}
		rate := d.Mid.Throughput
		if base < gpus {
			j := q.question(q.modes[0], base)
			j.Placement = nil // it names ranks that the base need not have
			j.Faults, j.Slow = fault.Plan{}, nil
			p, err := predict.Run(ctx, j, o)
			switch {
			case err == nil:
				rate = p.Mid.Throughput
			case predict.DoesNotFit(err):
				continue
			default:
				return err
			}
		}
		efficiency := d.Mid.Throughput / float64(gpus) / (rate / float64(base))
		d.efficiency, d.base = &efficiency, base
		return nil
	}
	return nil
}

// dollarsPerHour returns the price of the hardware of a job: of its GPUs at --dollars-per-gpu-hour, or of
// all accelerators and hosts at the prices of their profiles. It is nil if one of these has no price, and
// missing names that one.
func (q *request) dollarsPerHour(j *predict.Job) (price *float64, missing string) {
	ranks, h := j.Roles.Ranks, j.Hardware
	if q.dollars > 0 {
		dollars := q.dollars * float64(ranks)
		return &dollars, ""
	}
	sum, missing := h.DollarsPerHour(ranks, len(j.DenseShards(j.Layout)))
	if missing != "" {
		return nil, missing
	}
	dollars := float64(sum)
	return &dollars, ""
}

// writeUnpriced writes that a cost is not known, and how to give the prices that are missing.
func writeUnpriced(w io.Writer, label, missing string) {
	cli.Paragraph(w, fmt.Sprintf("%snot known: no price is published of %s. --set NAME%s=DOLLARS gives that "+
		"of each, --dollars-per-gpu-hour that of all for a GPU.", label, missing, cost.PriceSetting),
		strings.Repeat(" ", len(label)))
}

// singleDocument is the JSON object of one prediction. What does not apply is null.
type singleDocument struct {
	Valid          bool                  `json:"valid"`
	Error          *string               `json:"error"` // why there is no prediction
	Job            *string               `json:"job"`
	Mode           *string               `json:"mode"`
	System         *string               `json:"system"`
	GPUs           *int                  `json:"gpus"`
	GlobalBatch    *int                  `json:"global_batch"`
	Throughput     *float64              `json:"throughput_samples_per_s"`
	Interval       *[2]float64           `json:"throughput_interval"` // over what is not known
	CI95           *[2]float64           `json:"throughput_ci95"`     // over seeds
	Samples        *int                  `json:"samples"`
	Unfit          int                   `json:"samples_that_do_not_fit,omitempty"` // not in the interval
	StepTime       stepTimes             `json:"step_time_ms"`
	Efficiency     *float64              `json:"scaling_efficiency"`
	EfficiencyBase *int                  `json:"scaling_base_gpus"`
	Staleness      stalenessSummary      `json:"staleness"` // of reads of the own rank, in batches
	StageTimes     stageTimes            `json:"stage_ms"`  // medians; they overlap
	Parts          []partTime            `json:"parts_ms"`  // of the step of a step graph
	Stations       []station.Use         `json:"stations"`
	Bottlenecks    []predict.Bottleneck  `json:"bottlenecks"`
	DollarsPerHour *float64              `json:"cost_usd_per_hour"`
	DollarsPerGiga *float64              `json:"cost_usd_per_billion_samples"`
	MemoryBytes    *graph.Memory         `json:"memory_bytes"`  // of the accelerator that holds the most
	Placement      []graph.Rule          `json:"placement"`     // of the tables of a step graph
	Ranks          []graph.RankTables    `json:"ranks"`         // what each GPU of one has of the tables
	Effects        []predict.Effect      `json:"effects"`       // of parameters; only with --effects
	Sensitivities  []predict.Sensitivity `json:"sensitivities"` // to a tenth better; null for one sample
	Messages       *int64                `json:"messages_per_step"`
	Bytes          *int64                `json:"bytes_per_step"`
	Drift          *float64              `json:"drift"`
	Unsettled      *bool                 `json:"unsettled"` // the steps never settled
	ModeSettings   map[string]int        `json:"mode_settings"`
	Faults         any                   `json:"faults"`
	Notes          []string              `json:"notes"`
	Parameters     []parameter           `json:"parameters"`
	Events         *int64                `json:"events"`
	Simulated      *int                  `json:"simulated_gpus"` // if they stand for all
	WallSeconds    float64               `json:"wall_s"`
	PeakRSS        *int64                `json:"peak_rss_bytes"`
	Seed           *uint64               `json:"seed"`
	HotRows        *hotRows              `json:"hot_rows,omitempty"` // of jobs that have some
	GPURows        *gpuRows              `json:"gpu_rows,omitempty"` // of jobs with their rows on GPUs
	Reproduce      string                `json:"reproduce"`
}

type stepTimes struct {
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
}

type stalenessSummary struct {
	Mean *float64 `json:"mean"`
	P99  *int     `json:"p99"`
	Max  *int     `json:"max"`
}

type stageTimes struct {
	GE  *float64 `json:"ge"`
	FC  *float64 `json:"fc"`
	BC  *float64 `json:"bc"`
	DS  *float64 `json:"ds"`
	PEG *float64 `json:"peg"`
}

// partTime is a part of a step. Time is the sum of its work if nothing else runs; Critical is its time on the
// critical path.
type partTime struct {
	Name     string  `json:"name"`
	Time     float64 `json:"time"`
	Critical float64 `json:"critical"`
}

// parameter is a quantity on which the prediction rests. Numbers are in the unit; formats are words.
type parameter struct {
	Name   string        `json:"name"`
	Low    any           `json:"low"`
	Value  any           `json:"value"`
	High   any           `json:"high"`
	Unit   string        `json:"unit"`
	Text   string        `json:"text"` // the value with its unit, to read
	Kind   quantity.Kind `json:"kind"`
	Source string        `json:"source"`
}

// newDocument returns an object that says nothing but how to repeat the prediction.
func (q *request) newDocument(start time.Time) *singleDocument {
	d := &singleDocument{WallSeconds: time.Since(start).Seconds(), PeakRSS: peakRSS(), Reproduce: q.command}
	if q.seed != 0 || q.kind == single {
		d.Seed = &q.seed
	}
	return d
}

// document returns the prediction as a JSON object.
func (d *detailed) document() *singleDocument {
	q, r := d.request, &d.Mid
	x := q.newDocument(d.start)
	mode, gpus, batch := q.modes[0], d.job.Roles.Ranks, d.job.Training.GlobalBatch
	x.Valid = r.Throughput > 0 && !math.IsInf(r.Throughput, 0)
	x.Job, x.Mode, x.GPUs, x.GlobalBatch = &d.job.Name, &mode, &gpus, &batch
	x.System = &q.hardware.System.Name
	x.Throughput, x.Interval, x.CI95 = &r.Throughput, pair(d.Interval), pair(d.CI95)
	x.Samples, x.Unfit = &q.samples, d.Unfit()
	x.StepTime = stepTimes{ms(r.StepTime), ms(r.StepP50), ms(r.StepP99)}
	x.Efficiency = d.efficiency
	if d.efficiency != nil {
		x.EfficiencyBase = &d.base
	}
	x.Stations, x.Bottlenecks = r.Stations, r.Bottlenecks
	if d.price != nil {
		dollars := d.dollarsPerGiga()
		x.DollarsPerHour, x.DollarsPerGiga = d.price, &dollars
	}
	x.Staleness = stalenessSummary{new(float64), new(int), new(int)} // a step graph reads what is current
	if a := r.Roles; a != nil {
		own := &a.Staleness.Own
		*x.Staleness.Mean, *x.Staleness.P99, *x.Staleness.Max = own.Mean(), own.Quantile(0.99), own.Max()
		s := a.StageTimes
		x.StageTimes = stageTimes{ms(s[pace.GE]), ms(s[pace.FC]), ms(s[pace.BC]), ms(s[pace.DS]),
			ms(s[pace.PEG])}
		bytes := int64(a.Bytes)
		x.Messages, x.Bytes, x.Drift, x.Unsettled = &a.Messages, &bytes, &a.Drift, &a.Unsettled
		if a.Simulated > 0 {
			x.Simulated = &a.Simulated
		}
		if c := q.counts(a); c != nil {
			x.Faults = c
		}
	}
	if g := r.Graph; g != nil {
		for _, p := range g.Parts {
			x.Parts = append(x.Parts, partTime{p.Name, *ms(p.Time), *ms(p.Critical)})
		}
		x.MemoryBytes, x.Placement, x.Ranks = &g.Memory, g.Rules(), g.Ranks
	}
	x.Effects, x.Sensitivities, x.Events = d.effects, d.sensitivities, &r.Events
	x.ModeSettings = d.job.ModeValues()
	x.Notes = append([]string{}, q.notes...)
	if note := d.longLookups(); note != "" {
		x.Notes = append(x.Notes, note)
	}
	x.Parameters = d.parameters()
	x.HotRows, x.GPURows = d.hotRows(), d.gpuRows()
	return x
}

// ms returns a time in milliseconds.
func ms(t unit.Tick) *float64 {
	x := 1e3 * t.Seconds()
	return &x
}

func pair(i *predict.Interval) *[2]float64 {
	if i == nil {
		return nil
	}
	return &[2]float64{i.Low, i.High}
}

func (d *detailed) dollarsPerGiga() float64 { return *d.price / 3600 / d.Mid.Throughput * 1e9 }

// parameters returns all parameters, and the number formats as words.
func (d *detailed) parameters() (list []parameter) {
	for _, e := range d.job.Parameters() {
		low, mid, high := e.Span()
		kind, source, _ := e.Origin()
		list = append(list, parameter{e.Name, low, mid, high, unitOf(e), e.Text(mid), kind, source})
	}
	return append(append(list, d.request.hotParameters(d.job)...), d.precisions()...)
}

// precisions returns the number formats of the job.
func (d *detailed) precisions() (list []parameter) {
	q, j := d.request, d.job
	source, given := "the job file", "the command line"
	compute, rows, activations, wire, gradients := "fp32", j.Job.Rows.Precision, "fp32",
		string(j.Wire.Precision), "fp32"
	if j.Model != nil {
		source = "the model " + j.Model.Name
		rows, wire, gradients = string(j.Rows), string(j.Model.Precisions.Wire),
			string(j.Model.Precisions.Gradients)
	}
	switch j.Hardware.Precision {
	case device.TF32:
		compute = "tf32"
	case device.Half:
		compute, activations = "half", "fp16"
		if j.Model != nil && q.graph() {
			activations = string(j.Model.Precisions.Activations)
		}
	}
	for _, x := range [][3]string{
		{"compute", compute, q.precision}, {"rows", rows, q.rowPrecision}, {"activations", activations, ""},
		{"wire", wire, ""}, {"gradients", gradients, ""},
	} {
		from := source
		if x[2] != "" {
			from = given
		}
		list = append(list, parameter{"precision." + x[0], x[1], x[1], x[1], "format", x[1], quantity.Default,
			from})
	}
	return list
}

// unitOf names the unit of a parameter's numbers; "" if they are bare.
func unitOf(e param.Entry) string {
	switch e.Parameter.(type) {
	case *quantity.Value[unit.Tick], *quantity.Value[unit.Nanos]:
		return "ns"
	case *quantity.Value[unit.Bytes]:
		return "B"
	case *quantity.Value[unit.BytesPerSec]:
		return "B/s"
	case *quantity.Value[unit.FLOPs]:
		return "FLOP"
	case *quantity.Value[unit.FLOPsPerSec]:
		return "FLOP/s"
	case *quantity.Value[unit.Dollars]:
		return "$/h"
	}
	return ""
}

// writeText writes the prediction for a reader.
func (d *detailed) writeText(w io.Writer) error {
	q, r := d.request, &d.Mid
	mode := q.modes[0]
	cli.Paragraph(w, fmt.Sprintf("%s, %s on %s: %s.", d.job.Name, mode, q.units(d.job.Roles.Ranks),
		q.where()), "  ")
	if own := d.job.ModeSettingsText(); own != "" {
		fmt.Fprintf(w, "Mode settings: %s.\n", own)
	}
	fmt.Fprintln(w)
	line := labelled(w, 13)
	line("throughput", "%s samples/s", rate(r.Throughput))
	if d.Interval != nil {
		line("", "%s to %s over %d points of what is not known (1st to 99th percentile)",
			rate(d.Interval.Low),
			rate(d.Interval.High), q.samples)
	}
	if n := d.Unfit(); n > 0 {
		line("", "at %d of these points, which are not in it, the job does not fit", n)
	}
	if a := q.hardware.System.Accuracy; a != nil {
		line("", "predictions with %s were off by %.0f %%: the median of %d published steps",
			q.hardware.System.Name, 100*a.Median, a.Steps)
	}
	if d.CI95 != nil {
		line("", "%s to %s over %d seeds (95 %% confidence)", rate(d.CI95.Low), rate(d.CI95.High), q.seeds)
	}
	line("step", "%s ms for %d samples; median %s, 99 %% up to %s", digits(*ms(r.StepTime)),
		d.job.Training.GlobalBatch, digits(*ms(r.StepP50)), digits(*ms(r.StepP99)))
	if a := r.Roles; a != nil {
		if a.Unsettled {
			line("", "%s", unsettledText(a))
		}
		if a.Simulated > 0 {
			line("", "%s", foldedText(a, d.job.Roles.Ranks))
		}
	}
	name, texts := d.placedRows()
	for _, text := range texts {
		line(name, "%s", text)
		name = ""
	}
	if r.Roles != nil && !d.job.HasRowsOnGPU() && q.cluster != thisMachine {
		use := cost.MemoryUse(d.job.Hardware.Resolve(), &d.job.Job, d.job.Layout, &d.job.Workload)
		line("memory", "%v of %v on a PS host, %v of %v on a GPU", use.PS, use.PSHas, use.GPU, use.GPUHas)
	}
	if d.efficiency != nil && d.base < d.job.Roles.Ranks {
		without := q.job.Disturbances()
		if without != "" {
			without = " without " + without
		}
		line("scaling", "%.0f %% of the throughput per GPU on %d%s", 100**d.efficiency, d.base, without)
	}
	if d.price != nil {
		line("cost", "$ %s an hour, $ %s for 10⁹ samples", digits(*d.price), digits(d.dollarsPerGiga()))
	} else {
		writeUnpriced(w, "cost         ", d.noPrice)
	}
	d.writeParts(w)
	fmt.Fprintln(w, "\nBottlenecks, by their share of the critical path:")
	for _, b := range r.Bottlenecks[:min(5, len(r.Bottlenecks))] {
		fmt.Fprintf(w, "  %3.0f %%  %s\n", 100*b.Share, b.Resource)
	}
	writeStations(w, r)
	d.writeUnknowns(w)
	return d.writeEnd(w)
}

// placedRows describes rows that are not on PSs, in lines behind a name. A job has rows of one kind at most.
func (d *detailed) placedRows() (name string, lines []string) {
	if rows := d.gpuRows(); rows != nil {
		return "rows on GPUs", rows.lines(d.job.Roles.Ranks)
	}
	hot := d.hotRows()
	if hot == nil {
		return "", nil
	}
	lines = []string{hot.text()}
	if hot.Pause != nil {
		lines = append(lines, hot.Pause.lines()...)
	}
	return "hot rows", lines
}

// foldedText says that some of the GPUs of a run were simulated.
func foldedText(a *cluster.Result, gpus int) string {
	return fmt.Sprintf("%d GPUs were simulated, each for %.3g on average that are alike", a.Simulated,
		float64(gpus)/float64(a.Simulated))
}

// unsettledText says that the steps of a run never settled.
func unsettledText(a *cluster.Result) string {
	half := len(a.StepTimes) / 2
	return fmt.Sprintf("not settled: the mean time of the last %d steps differs by %+.0f %% from that of "+
		"the %d before", half, 100*a.Drift, half)
}

// fitted says what the prices of a system are fitted to.
func fitted(p *system.Profile) string {
	switch {
	case p.Calibration == nil && p.Note != "":
		return strings.ToUpper(p.Note[:1]) + p.Note[1:] + "."
	case p.Calibration == nil:
		return "Nothing is fitted."
	}
	return fmt.Sprintf("Prices of %s are calibrated: %s.", p.Name, p.Calibration.Source)
}

// longLookups explains a GE that is longer than a step in a mode that works step by step; "" if it is not.
func (d *detailed) longLookups() string {
	rule, err := d.job.Rule()
	if a := d.Mid.Roles; err != nil || a == nil || !rule.InStep() || a.StageTimes[pace.GE] <= d.Mid.StepTime {
		return ""
	}
	return fmt.Sprintf("GE is longer than a step because in %s a rank asks for its next embeddings while it "+
		"still trains, and the PSs answer after all gradients of the step before.", d.request.modes[0])
}

// writeParts writes the stages of a step, or the parts of a step graph.
func (d *detailed) writeParts(w io.Writer) {
	if a := d.Mid.Roles; a != nil {
		s := a.StageTimes
		fmt.Fprintln(w)
		cli.Paragraph(w, fmt.Sprintf("Stages in ms, medians, which overlap: GE %s, FC %s, BC %s, DS %s, PEG "+
			"%s.", digits(*ms(s[pace.GE])), digits(*ms(s[pace.FC])), digits(*ms(s[pace.BC])),
			digits(*ms(s[pace.DS])), digits(*ms(s[pace.PEG]))), "")
		cli.Paragraph(w, cli.Stages, "")
		if note := d.longLookups(); note != "" {
			cli.Paragraph(w, note, "")
		}
		fmt.Fprintf(w, "%d messages and %v a step.\n", a.Messages, a.Bytes)
	}
	if g := d.Mid.Graph; g != nil {
		fmt.Fprintln(w, "\nParts of a step in ms: alone, and on the critical path:")
		for _, p := range g.Parts {
			if p.Time > 0 || p.Critical > 0 {
				fmt.Fprintf(w, "  %-30s %8s %8s\n", p.Name, digits(*ms(p.Time)), digits(*ms(p.Critical)))
			}
		}
		m := &g.Memory
		cli.Paragraph(w, fmt.Sprintf("Memory of the fullest GPU: %v of rows, %v of their optimizer, %v of "+
			"the dense network, %v of activations, %v of batches; %v are reserved of %v.", m.Tables, m.State,
			m.Dense, m.Activations, m.Buffers, m.Reserve, m.Capacity), "")
		cli.Paragraph(w, fmt.Sprintf("Placement: %s.", placementText(g.Rules()))+tiersText(g.Placement), "")
		writeRanks(w, g.Ranks)
	}
}

// ranksMost is the number of GPUs up to which each has a line.
const ranksMost = 16

// writeRanks writes what the GPUs have of the tables: each GPU or, of many, those with the most and the least
// memory and work. Neighbours that are alike share a line.
func writeRanks(w io.Writer, ranks []graph.RankTables) {
	if len(ranks) == 1 {
		return
	}
	line := func(name string, r *graph.RankTables) {
		fmt.Fprintf(w, "  %-12s %8d %12v %7.0f %%\n", name, r.Parts, r.Memory, 100*r.Load)
	}
	fmt.Fprintf(w, "\n  %-12s %8s %12s %9s\n", "GPU", "parts", "memory", "work")
	if len(ranks) <= ranksMost {
		for first := 0; first < len(ranks); {
			last := first
			for last+1 < len(ranks) && ranks[last+1] == ranks[first] {
				last++
			}
			name := strconv.Itoa(first)
			if last > first {
				name = fmt.Sprintf("%d to %d", first, last)
			}
			line(name, &ranks[first])
			first = last + 1
		}
	} else {
		memory := func(a, b graph.RankTables) int { return cmp.Compare(a.Memory, b.Memory) }
		load := func(a, b graph.RankTables) int { return cmp.Compare(a.Load, b.Load) }
		for _, x := range []struct {
			name string
			rank graph.RankTables
		}{{"fullest", slices.MaxFunc(ranks, memory)}, {"emptiest", slices.MinFunc(ranks, memory)},
			{"busiest", slices.MaxFunc(ranks, load)}, {"idlest", slices.MinFunc(ranks, load)}} {
			line(x.name, &x.rank)
		}
	}
	more := ""
	if len(ranks) > ranksMost {
		more = " --json has every GPU."
	}
	cli.Paragraph(w, "Parts are of tables, memory is that of rows with their optimizer, and work is the "+
		"time on them relative to the mean."+more, "")
}

// tiersText says, behind a sentence, which tables are not on accelerators; empty if all are.
func tiersText(shards []graph.Shard) (text string) {
	total := 0.0
	values, tables := map[graph.Tier]float64{}, map[graph.Tier]map[string]bool{}
	for i := range shards {
		s := &shards[i]
		size := s.Rows * float64(s.Dim) * float64(s.Ranks)
		total += size
		values[s.Tier] += size
		if tables[s.Tier] == nil {
			tables[s.Tier] = map[string]bool{}
		}
		tables[s.Tier][s.Table] = true
	}
	for _, x := range []struct {
		tier  graph.Tier
		where string
	}{{graph.DDR, "in the memory of servers"}, {graph.SSD, "on SSDs of servers"}} {
		if n := len(tables[x.tier]); n > 0 {
			text += fmt.Sprintf(" %d tables with %.3g %% of all values are %s; GPUs have the rows that were "+
				"used last.", n, 100*values[x.tier]/total, x.where)
		}
	}
	return text
}

// placementText returns the number of tables with each layout.
func placementText(rules []graph.Rule) string {
	counts := map[graph.Layout]int{}
	var layouts []graph.Layout // in the order of the tables
	for _, rule := range rules {
		if counts[rule.Layout]++; counts[rule.Layout] == 1 {
			layouts = append(layouts, rule.Layout)
		}
	}
	var words []string
	for _, layout := range layouts {
		words = append(words, fmt.Sprintf("%d %s", counts[layout], layout))
	}
	return strings.Join(words, ", ") + " tables"
}

// writeUnknowns writes which parameters matter.
func (d *detailed) writeUnknowns(w io.Writer) {
	if len(d.effects) > 0 {
		fmt.Fprintln(w, "\nWhat is not known, by its part of the interval (total effect, with interactions):")
		for _, e := range d.effects[:min(5, len(d.effects))] {
			fmt.Fprintf(w, "  %3.0f %%  %s\n", 100*e.Share, e.Name)
		}
		cli.Paragraph(w, effectWords(d.effects), "")
	}
	if len(d.sensitivities) > 0 {
		fmt.Fprintln(w, "\nA tenth better would change the throughput by:")
		shown := d.sensitivities[:min(5, len(d.sensitivities))]
		for _, s := range shown {
			fmt.Fprintf(w, "  %+5.1f %%  %s\n", 100*s.Change, s.Name)
		}
		const least = -0.0005
		if slices.ContainsFunc(shown, func(s predict.Sensitivity) bool { return s.Change < least }) {
			cli.Paragraph(w, "A minus comes from the order of work: what ends earlier can delay what runs "+
				"beside it.", "")
		}
	}
}

// writeEnd writes staleness, faults, published figures and parameters.
func (d *detailed) writeEnd(w io.Writer) error {
	q := d.request
	o := prediction{mode: q.modes[0], gpus: q.gpus[0], answer: answerOf(d.Prediction), whole: d.Prediction}
	r := &result{predictions: []prediction{o}}
	parts := []func(io.Writer, *result) error{q.writeSlow, q.writeFaults, q.writeStaleness, q.writeDropped,
		q.writePublished}
	for _, part := range parts {
		if err := part(w, r); err != nil {
			return err
		}
	}
	list := q.assumptions()
	for _, p := range append(q.hotParameters(d.job), d.precisions()...) {
		list = append(list, cost.Assumption{Name: p.Name, Low: p.Text, Mid: p.Text, High: p.Text,
			Kind:   p.Kind,
			Source: p.Source})
	}
	if q.parameters {
		writeCounts(w, list, "")
		fmt.Fprintln(w)
		if err := writeParameters(w, list); err != nil {
			return err
		}
	} else {
		writeCounts(w, list, "--parameters")
	}
	_, err := fmt.Fprintf(w, "\nTo repeat: %s\n", q.command)
	return err
}

// errorDocument returns the JSON object of a request that has no prediction.
func errorDocument(err error, command string, start time.Time) *singleDocument {
	q := &request{command: command}
	text := err.Error()
	d := q.newDocument(start)
	d.Error = &text
	return d
}

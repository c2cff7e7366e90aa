package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/internal/workload"
	"tandem/sim/cost"
	"tandem/sim/device"
	simmodel "tandem/sim/model"
	"tandem/sim/plan"
	"tandem/sim/predict"
	"tandem/sim/preset"
)

const planUsage = `Find the cheapest cluster that trains a number of samples in time.

--train SAMPLES --within TIME asks for the cheapest cluster that trains these
samples in that time; --throughput RATE for the cheapest an hour that has that
many samples/s; --target-auc AUC --curve FILE for the cheapest that trains until
this AUC, where a measured curve says how many samples each mode needs. The
search chooses among the clusters of --presets, with their
own GPUs or those of --accelerators:
  - the number of servers, whole ones, with up to --most-gpus GPUs;
  - the numbers of hosts of embedding workers, embedding PSs and loaders, 1, 2,
    3, 4, 6, 8, 12 … up to --most-hosts each;
  - the hosts of the embedding PSs: their own, or those of embedding workers;
  - the mode, among --modes. Others than sync and hybrid are left out unless
    you name them: what they lose in accuracy is not in a price.
Tables on accelerators are placed by cost.

The answer is a front: the cheapest cluster, and the cheapest ones that are
faster by about a tenth each, up to the fastest. No cluster has more hosts
than pay for themselves. Each is simulated at the same points of what is not
known, prices included, and reported as by sim run: "cheapest" is the part of
the points at which it is the cheapest that is fast enough. Below are the
hosts, their memory, and the smallest staleness, of 0, 1, 2, 4 and so on, that
does as well.

Prices are the on-demand prices of the profiles. There are no spot prices in
them: --spot SHARE pays that part for GPUs and their servers; "sim goodput"
has it too, and says what being preempted costs.
`

const planExamples = `  go run ./cmd/sim plan
  go run ./cmd/sim plan --model mlperf-dcnv2 --train 4e9 --within 1h
  go run ./cmd/sim plan --presets persia-gcp,commodity-10g --train 1e9 \
      --within 6h --modes sync,hybrid,async-average
  go run ./cmd/sim plan --throughput 5e6 --spot 0.4
  go run ./cmd/sim plan --target-auc 0.79 --curve results/mine/curve.csv`

// planning are the flags of a plan.
type planning struct {
	train        float64
	within       unit.Tick
	throughput   float64
	targetAUC    float64
	curveFile    string
	budget       float64
	file         string
	model        string
	presets      []string
	accelerators []string
	modes        []string
	staleness    int
	mostGPUs     int
	mostHosts    int
	batch        int
	globalBatch  int
	rowPrecision string
	set          []string
	spot         float64
	samples      int
	out          string
	page         string
	json         bool
}

// register declares the flags.
func (x *planning) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.Float64Var(&x.train, "train", 0, "train this many `SAMPLES` (default: 1e9)")
	fs.TextVar(&x.within, "within", unit.Tick(0),
		"end within this `TIME`, as 6h (default: 6h, unless --train is given alone)")
	cli.DefaultInText(fs, "within")
	fs.Float64Var(&x.throughput, "throughput", 0,
		"find the cheapest cluster an hour with this many samples/s")
	fs.Float64Var(&x.targetAUC, "target-auc", 0,
		"train until this AUC, after as many samples as --curve says")
	fs.StringVar(&x.curveFile, "curve", "",
		"take the samples that each mode needs from this `FILE`: curve.csv of cmd/train, or what "+
			"experiments time-to-auc stored")
	fs.Float64Var(&x.budget, "budget", 0,
		"spend at most this many dollars, or dollars an hour with --throughput (default: any)")
	fs.StringVarP(&x.file, "file", "f", "", "train the data and the network of this job `FILE`")
	fs.StringVar(&x.model, "model", "criteo", "train this `MODEL`")
	fs.StringSliceVar(&x.presets, "presets", nil,
		"choose among these `CLUSTERS` (default: "+strings.Join(rentable(), ",")+")")
	fs.StringSliceVar(&x.accelerators, "accelerators", nil,
		"choose among these `PROFILES` in each cluster (default: its own)")
	fs.StringSliceVar(&x.modes, "modes", []string{job.Sync, job.Hybrid}, "choose among these `MODES`")
	fs.IntVar(&x.staleness, "staleness", 9,
		"let this many earlier batches of a rank be outstanding (τ) at most")
	fs.IntVar(&x.mostGPUs, "most-gpus", 64, "choose up to this number of GPUs")
	fs.IntVar(&x.mostHosts, "most-hosts", 64, "choose up to this number of hosts of a role")
	fs.IntVar(&x.batch, "batch-per-gpu", 0, "train this many samples a rank and step (default: the model's)")
	fs.IntVar(&x.globalBatch, "global-batch", 0, "train this many samples a step on any number of GPUs")
	fs.StringVar(&x.rowPrecision, "row-precision", "",
		"keep embedding rows in this `FORMAT`: fp32, fp16 or bf16 (default: the model's)")
	fs.StringArrayVar(&x.set, "set", nil,
		"give a parameter a value, `NAME=VALUE`, as in sim run; may be repeated")
	registerSpot(fs, &x.spot)
	fs.IntVar(&x.samples, "samples", 0,
		"simulate this many points of what is not known (default: 64, or down to 8 if simulations are long)")
	fs.StringVar(&x.out, "out", "",
		"write the cheapest cluster to this new YAML `FILE`, for --preset of other commands")
	fs.StringVar(&x.page, "report", "",
		"write the plan as one page with figures to this new HTML `FILE`")
	fs.BoolVar(&x.json, "json", false, "print one JSON object instead of text")
}

// rentable returns the clusters that a plan chooses among by default: those whose machines can be rented or
// bought. The others are of companies that built them for themselves, and have no price, or have no
// accelerators.
func rentable() []string { return []string{"commodity-10g", "dgx-a100", "dgx-h100", "persia-gcp"} }

// planned is a plan with all that its report shows.
type planned struct {
	*planning
	curve     *curve // of --target-auc; nil without
	space     *plan.Space
	search    *plan.Search
	need      float64 // samples/s
	front     []*option
	fastest   *plan.Found
	notes     []string
	command   string
	start     time.Time
	staleness *leastStaleness // of the cheapest; nil if it has none
}

// option is a cluster of the front.
type option struct {
	plan.Found // what was simulated at the sampled points, as sim run reports it, not what the search found
	job        *predict.Job
	whole      *predict.Prediction
	rates      []float64 // at the sampled points, as Found.Throughput
	costs      []float64 // at the sampled points, also where it is too slow
	cheapest   float64   // part of the points at which it is the cheapest
	enough     float64   // part of the points at which it is fast enough
}

func (p *program) planCommand() *cobra.Command {
	x := &planning{}
	c := &cobra.Command{
		Use: "plan", Short: "Find the cheapest and the fastest cluster",
		Long: planUsage, Example: planExamples, Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			d := &planned{planning: x, start: time.Now(), command: commandLine(c)}
			return advise(p.plan(d, c.Flags().Changed))
		},
	}
	x.register(c.Flags())
	return c
}

// plan searches and reports.
func (p *program) plan(d *planned, given func(string) bool) (err error) {
	if err := d.check(given); err != nil {
		return err
	}
	choice := predict.Choice{Model: d.model, BatchPerGPU: d.batch, GlobalBatch: d.globalBatch,
		RowPrecision: d.rowPrecision, Staleness: &d.planning.staleness}
	if choice.Set, err = settingsOf(d.set); err != nil {
		return err
	}
	if err := d.setOwnModel(&choice, job.DataFolder(p.dataDir, d.file), given); err != nil {
		return err
	}
	if err := d.setCurve(given); err != nil {
		return err
	}
	d.setNeed()
	choice.GlobalBatch = d.globalBatch
	a := plan.Ask{Choice: choice, Presets: d.presets, Accelerators: d.accelerators, Modes: d.modes,
		GPUsMost: d.mostGPUs, HostsMost: d.mostHosts, Share: d.spot}
	if len(a.Presets) == 0 {
		a.Presets = rentable()
	}
	var left []string
	if d.space, left, err = plan.NewSpace(a); err != nil {
		return adviseSet(err, choice.Set)
	}
	d.notes = append(d.notes, left...)
	progress := cli.NewProgress(p.stderr, p.terminal)
	defer progress.Close()
	if err := checkNewFile("--out", d.out); err != nil {
		return err
	}
	if err := checkNewFile("--report", d.planning.page); err != nil {
		return err
	}
	d.search = &plan.Search{Problem: weighted{d.space, d.curve}}
	d.search.After = func(simulated int) { progress.Show(simulated, simulated+1, "clusters") }
	found, fastest, err := d.search.Front(d.need, d.cost())
	if err != nil {
		return err
	}
	if d.fastest = fastest; len(found) == 0 || d.budget > 0 && found[0].Cost > d.budget {
		return d.infeasible(found)
	}
	if err := d.predictFront(found, progress); err != nil {
		return err
	}
	if first := d.front[0]; d.budget > 0 && first.Cost > d.budget {
		return d.tooDear(&first.Found)
	}
	progress.Close()
	d.notes = append(d.notes, d.notesOfGPURows()...)
	if err := d.writeCluster(); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	cli.PrintNotes(p.stderr, "sim", d.notes)
	if err := writeAnswer(d.planning.page, d); err != nil {
		return err
	}
	if d.json {
		return printJSON(p.stdout, d.document())
	}
	return d.writeText(p.stdout)
}

// notesOfGPURows returns what a user might not expect of rows on GPUs, of the clusters of the front.
func (d *planned) notesOfGPURows() (notes []string) {
	for _, o := range d.front {
		note := ""
		if o.job.HasRowsOnGPU() && o.whole.Mid.Roles != nil {
			note = noteOfGPUSystem(o.job.Hardware.System.Name)
		}
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// weighted is a space whose throughputs count samples of the mode that needs the fewest for an AUC.
type weighted struct {
	*plan.Space
	curve *curve
}

// Simulate implements plan.Problem.
func (x weighted) Simulate(p plan.Place) (plan.Outcome, error) {
	o, err := x.Space.Simulate(p)
	o.Throughput /= x.curve.work(x.Mode(p))
	return o, err
}

// setOwnModel takes the model of a job file, if there is one, and the job itself if it has rows on GPUs.
func (d *planned) setOwnModel(c *predict.Choice, folder string, given func(string) bool) (err error) {
	switch {
	case d.file == "":
		return nil
	case given("model"):
		return cli.UsageError("a job file has its own data and network",
			"--file and --model: want one of the two")
	}
	j, err := job.Load(d.file)
	if err != nil {
		return err
	}
	d.model = j.Name
	c.Own, err = workload.Model(&j, folder)
	if !j.WantsRowsOnGPU() {
		return err
	}
	if err != nil {
		d.notes = append(d.notes, fmt.Sprintf("clusters whose system has all tables on the accelerators are "+
			"left out: %v", err))
	}
	c.File, err = d.fileJob(j, folder)
	return err
}

// fileJob returns a job of a file, to be predicted as it is, but for faults and slow roles.
func (d *planned) fileJob(j job.Job, folder string) (own *predict.Job, err error) {
	if text := j.Disturbances(); text != "" {
		d.notes = append(d.notes, "clusters are planned without "+text)
	}
	own = &predict.Job{Job: j}
	j = j.InMode(d.modes[0]) // of a sequential one, no place of rows is checked
	own.Workload, own.Layout, err = workload.Simulated(&j.Data, &j, folder)
	return own, err
}

// settingsOf reads --set.
func settingsOf(set []string) (map[string]string, error) {
	q := &request{flags: flags{set: set}}
	return q.settings()
}

// check refuses what no plan can have, and sets what was left out.
func (d *planned) check(given func(string) bool) error {
	if !given("train") && !given("throughput") && !given("target-auc") {
		d.train = 1e9
		if !given("within") {
			d.within = 6 * unit.Hour
		}
	}
	for _, x := range []struct {
		flag  string
		names []string
		known []string
	}{{"model", []string{d.model}, simmodel.Models.Names()}, {"presets", d.presets, cost.Clusters.Names()},
		{"accelerators", d.accelerators, device.Accelerators.Names()}, {"modes", d.modes, job.Modes()[1:]}} {
		for _, name := range x.names {
			if !slices.Contains(x.known, name) && !(x.flag != "modes" && preset.IsFile(name)) {
				return unknown("--"+x.flag, name, x.known)
			}
		}
	}
	switch {
	case given("throughput") && (given("train") || given("within")):
		return cli.UsageError("--train 1e9 --within 6h asks for 46 thousand samples/s",
			"--throughput and --train: want one of the two")
	case given("train") && !(d.train >= 1 && d.train <= 1e18):
		return cli.UsageError("write it as 1e9", "--train: %v; want 1 to 1e18 samples", d.train)
	case given("throughput") && !(d.throughput > 0 && d.throughput <= 1e15):
		return cli.UsageError("write it as 5e6",
			"--throughput: %v; want more than 0 and at most 1e15 samples/s", d.throughput)
	case given("within"):
		if err := checkTime("--within", d.within, true); err != nil {
			return err
		}
	}
	switch {
	case given("budget") && !(d.budget > 0):
		return cli.UsageError("see --help", "--budget: %v; want more than 0 dollars", d.budget)
	case d.mostGPUs < 1 || d.mostGPUs > planGPUsMost:
		return cli.UsageError("simulations of more take minutes each: sim run makes one",
			"--most-gpus: %d; want 1 to %d", d.mostGPUs, planGPUsMost)
	case d.mostHosts < 1 || d.mostHosts > planHostsMost:
		return cli.UsageError("see --help", "--most-hosts: %d; want 1 to %d", d.mostHosts, planHostsMost)
	case given("samples") && d.samples < 2:
		return cli.UsageError("see --help", "--samples: %d; want at least 2", d.samples)
	case d.planning.staleness < 0 || d.planning.staleness > stalenessMax:
		return cli.UsageError("see --help", "--staleness: %d; want 0 to %d", d.planning.staleness,
			stalenessMax)
	case len(d.modes) == 0:
		return cli.UsageError("such as sync,hybrid", "--modes: want at least one")
	case given("presets") && len(d.presets) == 0 || given("accelerators") && len(d.accelerators) == 0:
		return cli.UsageError("leave the flag out for its default",
			"--presets and --accelerators need at least one value")
	}
	return checkSpot(d.spot)
}

// registerSpot declares the flag of the part of the price of GPUs and their servers that is paid.
func registerSpot(fs *pflag.FlagSet, share *float64) {
	fs.Float64Var(share, "spot", 1, "pay this `SHARE` of the price of GPUs and their servers")
}

// checkSpot refuses what no part of a price can be.
func checkSpot(share float64) error {
	if share > 0 && share <= 1 {
		return nil
	}
	return cli.UsageError("0.4 is two fifths of the price on demand",
		"--spot: %v; want more than 0 and at most 1", share)
}

// setNeed sets the throughput that is needed: 0 for any.
func (d *planned) setNeed() {
	d.need = d.throughput
	if d.within > 0 {
		d.need = d.train / d.within.Seconds()
	}
}

// Bounds of what is searched: the time of a simulation grows with both.
const (
	planGPUsMost  = 4096
	planHostsMost = 4096
)

// cost returns what is to be low: the dollars for all samples or, for a throughput, an hour.
func (d *planned) cost() plan.Cost {
	if d.train == 0 {
		return func(perHour, _ float64) float64 { return perHour }
	}
	return func(perHour, throughput float64) float64 { return perHour / 3600 * d.train / throughput }
}

// moreHint is what else may help a plan without an answer.
const moreHint = "or more GPUs and hosts by --most-gpus and --most-hosts, or other --presets, " +
	"--accelerators and --modes"

// tooDear returns the error of a plan whose cheapest cluster costs more than the budget.
func (d *planned) tooDear(cheapest *plan.Found) error {
	what := "the cheapest cluster"
	if d.train == 0 {
		what += " an hour"
	}
	return &cli.Error{Err: fmt.Errorf("plan: --budget binds: %s, %s, costs $ %s; --budget %s is enough",
		what, d.space.Describe(cheapest.Place), digits(cheapest.Cost), digits(cheapest.Cost*1.001)),
		Hint: "a longer --within may be cheaper; " + moreHint}
}

// infeasible returns the error of a plan without an answer: which constraint binds, and what would be enough.
func (d *planned) infeasible(found []*plan.Found) error {
	if d.fastest == nil {
		largest := d.search.Refused()
		err := fmt.Errorf("plan: memory binds: the job fits none of these clusters; the largest: %w",
			d.search.Known(largest).Refusal)
		if hosts := d.space.HostsFor(largest); hosts > 0 {
			err = fmt.Errorf("%w; --most-hosts %d is enough for the rows", err, hosts)
		}
		return &cli.Error{Err: err, Hint: "smaller: --row-precision fp16, a smaller batch; " + moreHint}
	}
	name := d.space.Describe(d.fastest.Place)
	if len(found) > 0 {
		return d.tooDear(found[0])
	}
	have := d.fastest.Throughput
	if d.train == 0 || d.within == 0 {
		return &cli.Error{Err: fmt.Errorf("plan: --throughput binds: the fastest, %s, has %s samples/s; "+
			"--throughput %s is possible", name, rate(have), digits(have*0.999)), Hint: moreHint}
	}
	least := unit.Tick(d.train / have * 1.001 * float64(unit.Second))
	return &cli.Error{Err: fmt.Errorf("plan: --within binds: the fastest, %s, has %s samples/s and needs "+
		"%s; --within %s is enough", name, rate(have), span(least), roundUp(least)), Hint: moreHint}
}

// roundUp writes a time that is at least t, as 7h or 31min.
func roundUp(t unit.Tick) string {
	for _, u := range []struct {
		name string
		size unit.Tick
	}{{"h", unit.Hour}, {"min", unit.Minute}, {"s", unit.Second}, {"ms", unit.Millisecond}} {
		if n := (t + u.size - 1) / u.size; n >= 10 || u.name == "ms" {
			return fmt.Sprintf("%d%s", n, u.name)
		}
	}
	return t.String()
}

// predictFront predicts the clusters that were found at the same points of what is not known.
func (d *planned) predictFront(found []*plan.Found, progress *cli.Progress) error {
	ctx := context.Background()
	var events int64
	for _, f := range found {
		o := &option{Found: *f}
		var err error
		if o.job, err = d.space.Job(f.Place); err != nil {
			return err
		}
		n, err := simulatedEvents(ctx, o.job, predict.Options{Seed: plan.Seed})
		if err != nil {
			return err
		}
		events += n
		d.front = append(d.front, o)
	}
	if d.samples == 0 {
		d.samples = pairedPoints(planEvents, events)
	}
	for _, o := range d.front {
		options := predict.Options{Samples: d.samples, WithoutEnds: true, Seed: plan.Seed}
		options.Done = func(done, all int) { progress.Show(done, all, d.space.Describe(o.Place)) }
		var err error
		if o.whole, err = predict.Run(ctx, o.job, options); err != nil {
			return err
		}
		o.Throughput = o.whole.Mid.Throughput / d.curve.work(o.job.Training.Mode)
		o.Cost = d.cost()(o.PerHour, o.Throughput)
		_, hours, _ := o.job.DollarsPerHour(d.samples)
		for k, rate := range o.whole.Samples {
			rate /= d.curve.workAt(o.job.Training.Mode, k)
			o.rates = append(o.rates, rate)
			o.costs = append(o.costs, d.cost()(hours[k], rate))
		}
	}
	d.keepFront()
	d.setOdds()
	return d.setStaleness(ctx)
}

// keepFront leaves the clusters out that the sampled points show to be too slow, if others are left, or no
// faster than a cheaper one, and sorts by cost. The search knew them only at the middle of what is not known.
func (d *planned) keepFront() {
	need := d.need
	if !slices.ContainsFunc(d.front, func(o *option) bool { return o.Throughput >= need }) {
		need = 0
	}
	slices.SortStableFunc(d.front, func(a, b *option) int { return cmp.Compare(a.Cost, b.Cost) })
	fastest := 0.0
	d.front = slices.DeleteFunc(d.front, func(o *option) bool {
		if o.Throughput < need || o.Throughput <= fastest {
			return true
		}
		fastest = o.Throughput
		return false
	})
}

// planEvents bounds the events of all simulations of a front.
const planEvents = 3_000_000

// setOdds counts at how many points each cluster is fast enough, and the cheapest of those that are.
func (d *planned) setOdds() {
	n := float64(d.samples)
	for k := range d.samples {
		var best *option
		for _, o := range d.front {
			if !(o.rates[k] >= d.need) {
				continue
			}
			o.enough += 1 / n
			if best == nil || o.costs[k] < best.costs[k] {
				best = o
			}
		}
		if best != nil {
			best.cheapest += 1 / n
		}
	}
}

// leastStaleness is how much staleness the cheapest cluster needs.
type leastStaleness struct{ asked, least int }

// setStaleness looks for the smallest τ, of 0, 1, 2, 4 and so on, with which the cheapest cluster is as fast,
// but for 1 %, and still fast enough.
func (d *planned) setStaleness(ctx context.Context) error {
	first := d.front[0]
	rule, err := first.job.Rule()
	if err != nil || rule.InStep() || first.whole.Mid.Roles == nil || d.planning.staleness == 0 {
		return err
	}
	d.staleness = &leastStaleness{asked: d.planning.staleness, least: d.planning.staleness}
	for staleness := 0; staleness < d.planning.staleness; staleness = max(staleness+1, 2*staleness) {
		j := *first.job
		j.Training.Staleness = &staleness
		r, err := predict.Run(ctx, &j, predict.Options{Seed: plan.Seed})
		if err != nil {
			return err
		}
		if r.Mid.Throughput/d.curve.work(j.Training.Mode) >= max(d.need, plan.AsFast*first.Throughput) {
			d.staleness.least = staleness
			break
		}
	}
	return nil
}

// writeCluster writes the cheapest cluster as a profile, for --preset of other commands.
func (d *planned) writeCluster() error {
	if d.out == "" {
		return nil
	}
	section := d.front[0].job.Cluster
	section.Source = "sim plan, from the preset " + section.Preset
	section.Preset, section.GPUs, section.Model = "", d.front[0].job.Roles.Ranks, d.model
	if d.file != "" {
		section.Model = ""
	}
	text, err := yaml.Marshal(section)
	if err != nil {
		return err
	}
	return os.WriteFile(d.out, text, 0o644)
}

// commandOf returns the command that predicts the cheapest cluster in detail.
func (d *planned) commandOf() string {
	j, file := d.front[0].job, d.out
	if !preset.IsFile(file) {
		file = "./" + file
	}
	words := fmt.Sprintf("go run ./cmd/sim run --preset %s --mode %s", quote(file), j.Training.Mode)
	if d.file != "" {
		words += fmt.Sprintf(" --file %s --gpus %d", quote(d.file), j.Roles.Ranks)
	}
	for _, x := range []struct {
		flag  string
		value int
	}{{"batch-per-gpu", d.batch}, {"global-batch", d.globalBatch}} {
		if x.value > 0 {
			words += fmt.Sprintf(" --%s %d", x.flag, x.value)
		}
	}
	if d.rowPrecision != "" {
		words += " --row-precision " + d.rowPrecision
	}
	if d.front[0].whole.Mid.Roles != nil {
		if rule, err := d.front[0].job.Rule(); err == nil && rule.InStep() {
			words += fmt.Sprintf(" --prefetch %d", d.planning.staleness+1) // no row is stale
		} else {
			words += fmt.Sprintf(" --staleness %d", d.planning.staleness)
		}
	}
	return words + fmt.Sprintf(" --samples %d", d.samples)
}

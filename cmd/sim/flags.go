package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/internal/cli"
	"tandem/sim/predict"
)

// kind is what a command makes of a job.
type kind int

const (
	table      kind = iota // predictions of modes on numbers of GPUs
	single                 // one prediction, with all that went into it
	trained                // trainings under simulated time
	failing                // one prediction, of a training that fails
	comparing              // one of several predictions, at the same points
	sweeping               // one prediction of many
	tracing                // one prediction, with what every station did
	explaining             // … in words and figures
)

// one reports whether a command is about one mode on one number of GPUs.
func (k kind) one() bool { return k != table && k != trained }

// paired reports whether a command predicts several configurations at the same points.
func (k kind) paired() bool { return k == comparing || k == sweeping }

// flags are those of the commands that predict. They change the job only where they are given.
type flags struct {
	kind         kind
	file         string
	preset       string
	cluster      string
	model        string
	system       string
	modes        []string
	gpus         []int
	batch        int
	globalBatch  int
	staleness    int
	prefetch     int
	modeSet      []string
	dense        int
	network      string
	accelerator  string
	inside       string
	precision    string
	rowPrecision string
	set          []string
	jitter       float64
	seed         uint64
	faults       string
	slow         string
	retry        string
	dollars      float64
	trace        string
	json         bool
	page         string

	// Of a training alone.
	target  float64
	every   string
	workers int
	spread  bool

	// Of predictions alone.
	samples int
	steps   int

	// Of one prediction alone.
	mode       once
	gpu        oneNumber
	seeds      int
	placement  string
	parameters bool
	effects    bool

	gantt    string   // of an explanation
	failures failures // of a training that fails
	swept    swept    // of many predictions
}

// register declares the flags of a kind of command, in the order of the help. A default that
// depends on the job file is in the text.
func (f *flags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVarP(&f.file, "file", "f", "", "read the job from this YAML `FILE` (default: "+f.defaultJob()+
		")")
	fs.StringVar(&f.preset, "preset", "",
		"simulate the `CLUSTER` of this profile or file (default: the job file's, or persia-paper)")
	fs.StringVar(&f.cluster, "cluster", "",
		"simulate this `CLUSTER`: as --preset, or persia (persia-paper), gcp (persia-gcp), or "+
			"this-machine, which is measured")
	if f.kind != trained {
		fs.StringVar(&f.model, "model", "",
			"predict the training of this `MODEL` (default: the job file's data and network, or the "+
				"model of the cluster's profile)")
	}
	fs.StringVar(&f.system, "system", "",
		"price the work of this system `SOFTWARE` (default: that of the cluster's profile)")
	f.registerModes(fs)
	f.registerBatch(fs)
	fs.IntVar(&f.staleness, "staleness", 9,
		"let this many earlier batches of a rank be outstanding (τ), at most 1000; "+
			"no effect in sync and backup-workers (default: 9, or the job file's)")
	cli.DefaultInText(fs, "staleness")
	fs.IntVar(&f.prefetch, "prefetch", 0,
		"keep this many batches of a rank in flight, at least τ+1 (default: τ+1)")
	fs.StringSliceVar(&f.modeSet, "mode-set", nil,
		"set a setting of a mode to a value, `NAME=VALUE` as in every=16; see above; may be repeated")
	fs.IntVar(&f.dense, "dense-ps", 0, "use this many dense PSs, each on a host of its own, in modes that "+
		"have them "+
		"(default: 8, or the cluster's PS hosts if these are fewer, or the job file's)")
	f.registerDevices(fs)
	fs.Float64Var(&f.jitter, "jitter", 0,
		"multiply the time of each forward and backward pass by a lognormal factor of "+
			"mean 1 and this `SIGMA` (default: 0)")
	f.registerSamples(fs)
	f.registerDisturbances(fs)
	if f.kind == trained {
		f.registerTraining(fs)
	}
	if f.kind == failing {
		f.failures.register(fs)
	}
	if f.kind == sweeping {
		f.swept.register(fs)
	}
	f.registerReport(fs)
}

// registerDisturbances declares the flags of what is random or does not go as planned, and of the price.
func (f *flags) registerDisturbances(fs *pflag.FlagSet) {
	seeded := "the jitter of all stages"
	if f.kind == failing {
		seeded += ", and the failures"
	}
	fs.Uint64Var(&f.seed, "seed", 1, "seed "+seeded)
	fs.StringVar(&f.faults, "faults", "", "inject `FAULTS`; see above (default: the job file's, or none)")
	fs.StringVar(&f.slow, "slow", "", "make `ROLES` slow; see above (default: the job file's, or none)")
	fs.StringVar(&f.retry, "retry", "", "ask again after this `TIME` without an answer "+
		"(default: the job file's, or 100ms with faults, else never)")
	fs.Float64Var(&f.dollars, "dollars-per-gpu-hour", 0,
		"report the cost at this price of a GPU, its share of the rest of the cluster included "+
			"(default: the prices of the profiles, in run and goodput)")
}

// registerTraining declares the flags of trainings alone.
func (f *flags) registerTraining(fs *pflag.FlagSet) {
	fs.Float64Var(&f.target, "target-auc", 0,
		"report the time to this AUC of the test rows, and its cost if GPUs have a price")
	fs.StringVar(&f.every, "evaluate-every", "", `evaluate at this `+"`INTERVAL`"+
		`, as "50 steps" or 10ms of simulated time (default: the job file's, or about 16 times)`)
	fs.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "train with this many goroutines")
	fs.BoolVar(&f.spread, "spread", false,
		"train at both ends of the hardware's ranges as well, for ranges of seconds")
}

// registerReport declares the flags of what is written.
func (f *flags) registerReport(fs *pflag.FlagSet) {
	if f.kind == single || f.kind == trained {
		fs.StringVar(&f.trace, "staleness-trace", "",
			"write the own staleness of the last prediction to this new `FILE`, "+
				"as delays for train --delay")
	}
	if f.kind.one() {
		fs.StringVar(&f.placement, "placement", "", "place the tables on the accelerators as this YAML "+
			"`FILE` says, and those that it leaves out by cost")
	}
	if f.kind == single || f.kind == explaining {
		fs.BoolVar(&f.effects, "effects", false,
			"rank the parameters that are not known by their total effect "+
				"on the throughput; 16 more simulations for each")
	}
	if f.kind == explaining {
		fs.StringVar(&f.gantt, "gantt", "", "write what the stations of one rank did to this new SVG `FILE`")
	}
	if f.kind == single {
		fs.BoolVar(&f.parameters, "parameters", false,
			"list all parameters, with their ranges and sources")
	}
	if f.kind != failing && f.kind != tracing {
		fs.StringVar(&f.page, "report", "",
			"write the report as one page with figures to this new HTML `FILE`")
	}
	fs.BoolVar(&f.json, "json", false, "print one JSON object instead of text")
}

// registerDevices declares the flags that change parts of the cluster.
func (f *flags) registerDevices(fs *pflag.FlagSet) {
	fs.StringVar(&f.accelerator, "accelerator", "",
		"use the accelerators of this `PROFILE`, with their own wires; hosts and network stay "+
			"(default: the cluster's)")
	fs.StringVar(&f.inside, "inside", "",
		"connect the accelerators of a server by the wire of this `PROFILE` "+
			"(default: the accelerator's)")
	fs.StringVar(&f.network, "network", "",
		"give each network card this `RATE` in each direction, as 25Gbps; a server with several cards "+
			"keeps their number (default: the profiles')")
	fs.StringVar(&f.precision, "precision", "",
		"multiply matrices in this `FORMAT`: fp32, tf32 or half, which stands for fp16 and bf16 (default: "+
			"the cluster's, or the model's)")
	if f.kind != trained {
		fs.StringVar(&f.rowPrecision, "row-precision", "",
			"keep embedding rows in this `FORMAT`: fp32, fp16 or bf16 (default: the model's or job's)")
	}
	fs.StringArrayVar(&f.set, "set", nil, "give a parameter a value, `NAME=VALUE` as in "+
		"embedding-ps.count=10, or make rows hot, as in hot.share=0.001 and hot.most=100000 (rows.hot of a "+
		"job file); run --parameters lists them; may be repeated")
}

// once is the value of a flag that may be given once, under any of its names.
type once struct {
	value string
	given bool
}

// String implements pflag.Value.
func (o *once) String() string { return o.value }

// Type implements pflag.Value.
func (o *once) Type() string { return "string" }

// Set implements pflag.Value.
func (o *once) Set(text string) error {
	if o.given {
		return fmt.Errorf("it is %q already; sim run takes one mode", o.value)
	}
	o.value, o.given = text, true
	return nil
}

// oneNumber is a number where other commands take several.
type oneNumber int

// Set implements pflag.Value.
func (n *oneNumber) Set(text string) error {
	value, err := strconv.Atoi(text)
	switch {
	case strings.Contains(text, ","):
		return errors.New("give one number; sim without run compares several")
	case err != nil:
		return errors.New("give a number")
	}
	*n = oneNumber(value)
	return nil
}

// String and Type implement pflag.Value.
func (n *oneNumber) String() string { return strconv.Itoa(int(*n)) }
func (n *oneNumber) Type() string   { return "int" }

// numbers is the value of a flag that takes several numbers; it says which of them is none.
type numbers struct{ pflag.Value }

// Set implements pflag.Value.
func (n numbers) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		if _, err := strconv.Atoi(word); err != nil {
			return fmt.Errorf("%q is not a whole number; separate numbers by commas, as 1,8,64", word)
		}
	}
	return n.Value.Set(text)
}

// registerModes declares the flags of modes and numbers of GPUs. --mode and --modes are one flag.
func (f *flags) registerModes(fs *pflag.FlagSet) {
	other, name := "mode", "modes"
	switch {
	case f.kind.one():
		other, name = "modes", "mode"
		fs.Var(&f.mode, "mode", "simulate this `MODE` (default: hybrid, the job file's, or sync "+
			"with tables on the accelerators)")
		fs.Var(&f.gpu, "gpus", "simulate this number of GPUs, one rank on each (default: that of "+
			"the cluster's profile, or the job file's ranks)")
	case f.kind == table:
		fs.StringSliceVar(&f.modes, "modes", nil,
			"simulate these `MODES` (default: sync,hybrid,async-ps,async-average, or the job file's, or "+
				"sync "+
				"with tables on the accelerators)")
	default:
		fs.StringSliceVar(&f.modes, "modes", []string{"sync", "hybrid"},
			"train in these `MODES` (default: sync,hybrid, or the job file's)")
		cli.DefaultInText(fs, "modes")
	}
	if !f.kind.one() {
		fs.IntSliceVar(&f.gpus, "gpus", []int{1, 2, 4, 8, 16, 64},
			"simulate these numbers of GPUs, one rank on each (default: "+f.defaultGPUs()+
				", or the job file's ranks)")
		cli.DefaultInText(fs, "gpus")
		gpus := fs.Lookup("gpus")
		gpus.Value = numbers{gpus.Value}
	}
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// registerBatch declares the flags of batch sizes.
func (f *flags) registerBatch(fs *pflag.FlagSet) {
	if f.kind == trained {
		fs.IntVar(&f.batch, "batch-per-gpu", 512,
			"train this many samples a rank and step (default: the job "+
				"file's global batch divided by its ranks)")
		cli.DefaultInText(fs, "batch-per-gpu")
		return
	}
	fs.IntVar(&f.batch, "batch-per-gpu", 0, "train this many samples a rank and step (default: the model's, "+
		"or the job file's global batch divided by its ranks)")
	fs.IntVar(&f.globalBatch, "global-batch", 0, "train this many samples a step on all GPUs together, "+
		"however many these are (default: a batch a GPU, or the model's global batch)")
}

// registerSamples declares the flags of how often a prediction simulates.
func (f *flags) registerSamples(fs *pflag.FlagSet) {
	switch f.kind {
	case single:
		fs.IntVar(&f.samples, "samples", predict.SamplesDefault, "simulate this many points of what is not "+
			"known, for the interval; 1 is the middle alone")
		fs.IntVar(&f.seeds, "seeds", seedsDefault, "simulate the middle with this many seeds, for the "+
			"confidence interval (default: 5, or 1 with --samples 1)")
		fs.IntVar(&f.steps, "steps", 0, "measure this many steps (default: until they settle)")
		cli.DefaultInText(fs, "seeds")
	case comparing, sweeping:
		fs.IntVar(&f.samples, "samples", 0, "simulate this many points of what is not known, the same in "+
			"all predictions; 1 is the middle alone (default: 64, or down to 8 if simulations are long)")
		fs.IntVar(&f.steps, "steps", 0, "measure this many steps (default: until they settle)")
	case tracing, explaining:
		f.samples = 1
		fs.IntVar(&f.steps, "steps", 0, "measure this many steps (default: until they settle)")
	case table, failing:
		fs.IntVar(&f.samples, "samples", coarse, "simulate this many points of what is not known, for each "+
			"interval; 1 is the middle alone")
		fs.IntVar(&f.steps, "steps", 0, "measure this many steps (default: until they settle)")
	}
}

// defaultJob names the job without --file.
func (f *flags) defaultJob() string {
	if f.kind == trained {
		return "the census income job"
	}
	return "the model of the cluster's profile"
}

// defaultGPUs names the numbers of GPUs without --gpus and --file.
func (f *flags) defaultGPUs() string {
	if f.kind == trained {
		return "4"
	}
	return "1,2,4,8,16,64, but 1,2,4,8,32 where no modes are named"
}

// normalize gives a single prediction the lists that the other kinds have.
func (f *flags) normalize(given func(string) bool) {
	if !f.kind.one() {
		return
	}
	if given("mode") {
		f.modes = []string{f.mode.value}
	}
	if given("gpus") {
		f.gpus = []int{int(f.gpu)}
	}
}

// modesFlag is the flag that chooses modes.
func (f *flags) modesFlag() string {
	if f.kind.one() {
		return "--mode"
	}
	return "--modes"
}

// commandLine returns the command with the flags that were given, in the order of the help.
func commandLine(c *cobra.Command) string {
	words := []string{"go run ./cmd/" + c.CommandPath()}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "report", "plot", "gantt": // whose files exist now
			return
		}
		if !f.Changed {
			return
		}
		if f.Value.Type() == "stringArray" {
			for _, value := range f.Value.(pflag.SliceValue).GetSlice() {
				words = append(words, "--"+f.Name+" "+quote(value))
			}
			return
		}
		value := strings.Trim(f.Value.String(), "[]")
		if f.Value.Type() == "bool" && value == "true" {
			words = append(words, "--"+f.Name)
			return
		}
		words = append(words, "--"+f.Name+" "+quote(value))
	})
	return strings.Join(words, " ")
}

// quote writes a value as a word for a shell.
func quote(value string) string {
	if strings.ContainsAny(value, " ;&|<>()$*?!\"'\\`") || value == "" {
		return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	return value
}

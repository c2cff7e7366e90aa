package main

import (
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/internal/cli"
)

// kind is what a command makes of a job.
type kind int

const (
	table   kind = iota // predictions of modes on numbers of GPUs
	single              // one prediction, with all that went into it
	trained             // trainings under simulated time
)

// flags are those of the commands that predict. They change the job only where they are given.
type flags struct {
	kind        kind
	file        string
	cluster     string
	modes       []string
	gpus        []int
	batch       int
	staleness   int
	prefetch    int
	modeSet     []string
	dense       int
	network     string
	accelerator string
	inside      string
	jitter      float64
	seed        uint64
	faults      string
	retry       string
	dollars     float64
	trace       string
	json        bool

	// Of a training alone.
	target  float64
	every   string
	workers int
	spread  bool

	// Of one prediction alone.
	mode string
	gpu  int
}

// register declares the flags of a kind of command, in the order of the help. A default that
// depends on the job file is in the text.
func (f *flags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVarP(&f.file, "file", "f", "", "read the job from this YAML `FILE` (default: "+f.defaultJob()+
		")")
	fs.StringVar(&f.cluster, "cluster", "persia",
		"simulate this `CLUSTER`: persia, gcp or this-machine (default: the job file's, or persia)")
	if f.kind == single {
		fs.StringVar(&f.mode, "mode", "hybrid", "simulate this `MODE` (default: hybrid, or the job file's)")
		fs.IntVar(&f.gpu, "gpus", 8, "simulate this number of GPUs, one rank on each (default: 8, or the "+
			"job file's ranks)")
		cli.DefaultInText(fs, "mode")
	} else {
		fs.StringSliceVar(&f.modes, "modes", []string{"sync", "hybrid"},
			"simulate these `MODES` (default: sync,hybrid, or the job file's)")
		fs.IntSliceVar(&f.gpus, "gpus", []int{1, 2, 4, 8, 16, 32, 64},
			"simulate these numbers of GPUs, one rank on each (default: "+f.defaultGPUs()+
				", or the job file's ranks)")
		cli.DefaultInText(fs, "modes")
	}
	fs.IntVar(&f.batch, "batch-per-gpu", 512,
		"train this many samples a rank and step (default: 512, or the "+
			"job file's global batch divided by its ranks)")
	fs.IntVar(&f.staleness, "staleness", 9,
		"let this many earlier batches of a rank be outstanding (τ), at most 1000; "+
			"no effect in sync and backup-workers (default: 9, or the job file's)")
	cli.DefaultInText(fs, "cluster", "gpus", "batch-per-gpu", "staleness")
	fs.IntVar(&f.prefetch, "prefetch", 0,
		"keep this many batches of a rank in flight, at least τ+1 (default: τ+1)")
	fs.StringSliceVar(&f.modeSet, "mode-set", nil,
		"set a setting of a mode to a value, `NAME=VALUE` as in every=16; see above; may be repeated")
	fs.IntVar(&f.dense, "dense-ps", 0, "use this many dense PSs, each on a host of its own, in modes that "+
		"have them "+
		"(default: 8, or the cluster's PS hosts if these are fewer, or the job file's)")
	fs.StringVar(&f.network, "network", "",
		"give all network cards this `RATE` in each direction, as 25Gbps "+
			"(default: the profiles')")
	fs.StringVar(&f.accelerator, "accelerator", "",
		"use the accelerators of this `PROFILE`; wires and hosts stay the "+
			"cluster's (default: the cluster's)")
	fs.StringVar(&f.inside, "inside", "",
		"connect the accelerators of a server by the wire of this `PROFILE` "+
			"(default: the cluster's)")
	fs.Float64Var(&f.jitter, "jitter", 0,
		"multiply the time of each forward and backward pass by a lognormal factor of "+
			"mean 1 and this `SIGMA` (default: 0)")
	fs.Uint64Var(&f.seed, "seed", 1, "seed the jitter")
	fs.StringVar(&f.faults, "faults", "", "inject `FAULTS`; see above (default: the job file's, or none)")
	fs.StringVar(&f.retry, "retry", "", "ask again after this `TIME` without an answer "+
		"(default: the job file's, or 100ms with faults, else never)")
	fs.Float64Var(&f.dollars, "dollars-per-gpu-hour", 0,
		"add a column of cost: the price of a GPU, its share of the "+
			"rest of the cluster included")
	if f.kind == trained {
		fs.Float64Var(&f.target, "target-auc", 0,
			"report the time to this AUC of the test rows, and its cost if "+
				"GPUs have a price")
		fs.StringVar(&f.every, "evaluate-every", "", `evaluate at this `+"`INTERVAL`"+
			`, as "50 steps" or 10ms of `+
			`simulated time (default: the job file's, or about 16 times)`)
		fs.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "train with this many goroutines")
		fs.BoolVar(&f.spread, "spread", false,
			"train at both ends of the hardware's ranges as well, for ranges of seconds")
	}
	if f.kind != table {
		fs.StringVar(&f.trace, "staleness-trace", "",
			"write the own staleness of the last prediction to this new `FILE`, "+
				"as delays for train --delay")
	}
	fs.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
}

// defaultJob names the job without --file.
func (f *flags) defaultJob() string {
	if f.kind == trained {
		return "the census income job"
	}
	return "Persia's net on Criteo's shape"
}

// defaultGPUs names the numbers of GPUs without --gpus and --file.
func (f *flags) defaultGPUs() string {
	if f.kind == trained {
		return "4"
	}
	return "1,2,4,8,16,32,64"
}

// normalize gives a single prediction the lists that the other kinds have.
func (f *flags) normalize() {
	if f.kind == single {
		f.modes, f.gpus = []string{f.mode}, []int{f.gpu}
	}
}

// modesFlag is the flag that chooses modes.
func (f *flags) modesFlag() string {
	if f.kind == single {
		return "--mode"
	}
	return "--modes"
}

// commandLine returns the command with the flags that were given, in the order of the help.
func commandLine(c *cobra.Command) string {
	words := []string{"go run ./cmd/" + c.CommandPath()}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		value := strings.Trim(f.Value.String(), "[]")
		if f.Value.Type() == "bool" && value == "true" {
			words = append(words, "--"+f.Name)
			return
		}
		if strings.Contains(value, " ") {
			value = "'" + value + "'"
		}
		words = append(words, "--"+f.Name+" "+value)
	})
	return strings.Join(words, " ")
}

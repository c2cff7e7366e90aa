package main

import (
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/internal/cli"
	"tandem/runtime/probe"
)

// program is what the command needs of its surroundings.
type program struct {
	stdout, stderr io.Writer
	terminal       bool   // stderr is one
	dataDir        string // TANDEM_DATA
	probe          func() (probe.Result, error)
}

// flags are what the command line may change of a job. Only those that were
// given count.
type flags struct {
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
	explain     bool
	trace       string
	json        bool

	numerics bool
	target   float64
	every    string
	workers  int
	spread   bool
}

const usage = `Predict the throughput of a training job on a cluster.

Without arguments: Persia's net on click logs of Criteo's shape, on the cluster
of Persia's evaluation, 512 samples a GPU, sync and hybrid on 1 to 64 GPUs.

The job's roles run in virtual time; what they do is priced by profiles of
hardware. An unknown quantity is a range, fixed beforehand; the interval beside
a prediction is what all ranges span together. Nothing is fitted to published
results.

A job file (--file) describes other jobs, models and clusters; its format is
that of cmd/train. Data that it names by relative paths lie in TANDEM_DATA, or
beside the job file if that is not set. --cluster this-machine measures this machine for a second
and predicts for it.

With --numerics the job is trained for real, under simulated time: real rows,
gradients and AUC, at the seconds that the cluster would take. Without a job
file that is the census data on 4 GPUs. The bits depend neither on this machine
nor on --workers. With --spread every training is done three times, at the
middle and at both ends of what is not known of the hardware.

The command replay does something else: it replays recorded runs.`

const examples = `  go run ./cmd/sim
  go run ./cmd/sim --network 25Gbps --modes hybrid --gpus 8,64,128
  go run ./cmd/sim --cluster gcp --explain
  go run ./cmd/sim --gpus 8 --faults drop=0.01,delay=0.01:50ms,crash=embedding-worker/0@40+2s
  go run ./cmd/sim --file cmd/train/jobs/frappe.yaml --cluster this-machine --json
  go run ./cmd/sim --numerics --target-auc 0.88 --dollars-per-gpu-hour 2.5`

func (p *program) command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "sim", Short: "Predict the throughput of a training job on a cluster", Long: usage + "\n\n" + job.ModeSettingsHelp(), Example: examples,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := p.question(c, &f)
			if err == nil {
				err = p.reply(q)
			}
			return advise(err)
		},
	}
	c.AddCommand(p.replayCommand())
	c.SetHelpCommand(&cobra.Command{Hidden: true}) // --help does it
	cli.Configure(c, p.stdout, p.stderr)
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.file, "file", "f", "", "job file, YAML (default: Persia's net on Criteo's shape)")
	fs.StringVar(&f.cluster, "cluster", "persia", "persia, gcp or this-machine; replaces that of the job file")
	fs.StringSliceVar(&f.modes, "modes", []string{"sync", "hybrid"}, "modes to simulate; of a job file its own")
	fs.IntSliceVar(&f.gpus, "gpus", []int{1, 2, 4, 8, 16, 32, 64}, "numbers of GPUs, one rank on each; of a job file its ranks")
	fs.IntVar(&f.batch, "batch-per-gpu", 512, "samples of a rank's batch; of a job file its global batch over its ranks")
	fs.IntVar(&f.staleness, "staleness", 9, "τ of all modes but sync: earlier batches of a rank that may be outstanding; at most 1000")
	fs.IntVar(&f.prefetch, "prefetch", 0, "batches in flight per rank, at least τ+1; 0 for τ+1")
	fs.StringSliceVar(&f.modeSet, "mode-set", nil, "set a setting of a mode, as every=16;\nsee above; may be repeated")
	fs.IntVar(&f.dense, "dense-ps", 0, "dense PSs, in modes that have them, a host each (default 8, or the cluster's PS hosts if fewer; of a job file its own)")
	fs.StringVar(&f.network, "network", "", "rate of every network card, one direction, as 25Gbps (default: the profiles')")
	fs.StringVar(&f.accelerator, "accelerator", "", "profile of the accelerator; wires and hosts stay the cluster's (default: the cluster's)")
	fs.StringVar(&f.inside, "inside", "", "profile of the wire between the accelerators of a server (default: the cluster's)")
	fs.Float64Var(&f.jitter, "jitter", 0, "σ of a lognormal factor of mean 1 on the time of each forward and backward pass")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the jitter")
	fs.StringVar(&f.faults, "faults", "none", "inject faults into the messages between roles, and crash roles:\n"+fault.Syntax)
	fs.StringVar(&f.retry, "retry", "0s", "ask again after this long without an answer; 0s: 100ms with faults, else never")
	fs.Float64Var(&f.dollars, "dollars-per-gpu-hour", 0, "price of a GPU with its share of everything else; adds a column of cost")
	fs.BoolVar(&f.explain, "explain", false, "list every quantity with its source, stage times and all sensitivities")
	fs.StringVar(&f.trace, "staleness-trace", "", "write the own staleness of the last prediction, as delays for train --delay")
	fs.BoolVar(&f.numerics, "numerics", false, "train the job's data for real, under simulated time")
	fs.Float64Var(&f.target, "target-auc", 0, "with --numerics: time, and cost if a GPU has a price, to this AUC on the test rows")
	fs.StringVar(&f.every, "evaluate-every", "", `with --numerics: how often, as "50 steps" or 10ms of simulated time (default: the job's, or some 16 times)`)
	fs.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "with --numerics: goroutines that train")
	fs.BoolVar(&f.spread, "spread", false, "with --numerics: train at the ends of the hardware's ranges, too, for ranges of seconds")
	fs.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	return c
}

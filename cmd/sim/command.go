package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/runtime/probe"
)

// program is what the commands need of the process that runs them.
type program struct {
	stdout, stderr io.Writer
	terminal       bool   // stderr is one
	dataDir        string // TANDEM_DATA
	probe          func() (probe.Result, error)
}

const usage = `Predict the throughput of a training job on a cluster.

Without a command, sim prints a table of modes and numbers of GPUs, row by row.
Without arguments it takes Persia's net on click logs of Criteo's shape, on the
cluster of Persia's evaluation with the prices of Persia's own code, 512 samples
a GPU, in four modes on 1 to 32 GPUs; its last lines are questions to ask next.

  sim run        makes one prediction and shows what went into it
  sim explain    says why: stages, waits, and a figure of them
  sim trace      writes what every station did, for Perfetto
  sim compare    says which of several configurations is faster, and cheaper
  sim sweep      predicts at every combination of values
  sim plan       finds the cheapest and the fastest cluster
  sim goodput    says what failures cost, and how often to save
  sim train      trains under simulated time
  sim replay     replays recorded runs
  sim presets    lists clusters, systems, models and devices
  sim calibrate  measures a GPU, or fits system software to measured steps
  sim validate   judges predictions of published steps
` + common

const examples = `  go run ./cmd/sim
  go run ./cmd/sim --network 25Gbps --modes hybrid --gpus 8,64,128
  go run ./cmd/sim --gpus 8 --faults drop=0.01,delay=0.01:50ms
  go run ./cmd/sim --gpus 8 --slow nn-worker/1=1.5
  go run ./cmd/sim --file cmd/train/jobs/frappe.yaml \
      --cluster this-machine --json
  go run ./cmd/sim --preset dgx-h100 --gpus 8,16,64
  go run ./cmd/sim run --mode sync --gpus 16
  go run ./cmd/sim train --target-auc 0.88 --dollars-per-gpu-hour 2.5`

// common is the part of the help that all predictions share.
const common = `
A prediction is hardware × system software × model. --preset names a cluster,
which brings its GPUs, its hosts, a system and a model; other flags replace
parts. A name with a slash, or that ends in .yaml, is your own file. Systems
with embedding PSs run the job's roles in virtual time; systems with the tables
on the accelerators run a graph of kernels, copies and collectives.

A quantity that is not known is a range, fixed beforehand. The interval beside
a prediction is the 1st to 99th percentile over sampled points of all ranges.
Prices of systems with embedding PSs are not fitted to published results, but
for one or two times of xdl and paddlepaddle. Those of most systems with tables
on the accelerators are calibrated to published steps that are marked fit, and
their intervals contain how far off such predictions were: "sim validate".

A step of roles has five stages: GE, get embeddings; FC and BC, forward and
backward computation; DS, synchronisation of the dense network; PEG, put
embedding gradients.

A job file (--file) describes other jobs, models and clusters, in the format of
cmd/train. Relative paths of its data start at TANDEM_DATA, or at the job file
if that is not set. --cluster this-machine measures this machine for a second
and predicts for it.

--faults injects faults into the messages between roles and crashes roles:
drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms,seed=1, and
crash=ROLE/INDEX@STEP+TIME, such as crash=embedding-worker/0@40+2s. --slow makes
all work of roles take longer, as in nn-worker/1=1.5,embedding-ps=2.`

func (p *program) command() *cobra.Command {
	root := p.predictionCommand(table)
	root.Use, root.Short = "sim", "Predict the throughput of a training job on a cluster"
	root.Long, root.Example = usage+"\n\n"+job.ModeSettingsHelp(), examples
	run := p.predictionCommand(single)
	run.Use, run.Short = "run", "Predict one mode on one number of GPUs, in detail"
	run.Long, run.Example = runUsage+"\n\n"+job.ModeSettingsHelp(), runExamples
	train := p.predictionCommand(trained)
	train.Use, train.Short = "train", "Train for real, under simulated time"
	train.Long, train.Example = trainUsage+"\n\n"+job.ModeSettingsHelp(), trainExamples
	goodput := p.predictionCommand(failing)
	goodput.Use, goodput.Short = "goodput", "Predict what failures cost, and how often to save"
	goodput.Long, goodput.Example = goodputUsage+"\n\n"+job.ModeSettingsHelp(), goodputExamples
	compare := p.compareCommand()
	compare.Long += "\n\n" + job.ModeSettingsHelp()
	sweep := p.sweepCommand()
	sweep.Long += "\n\n" + job.ModeSettingsHelp()
	root.AddCommand(run, p.explainCommand(), p.traceCommand(), compare, sweep, p.planCommand(), goodput,
		train, p.replayCommand(), p.presetsCommand(), p.calibrateCommand(), p.validateCommand())
	root.SetHelpCommand(&cobra.Command{Hidden: true}) // --help does it
	cli.Configure(root, p.stdout, p.stderr)
	root.SetFlagErrorFunc(flagError)
	return root
}

// predictionCommand returns a command of a kind, without its texts.
func (p *program) predictionCommand(kind kind) *cobra.Command {
	f := &flags{kind: kind}
	c := &cobra.Command{
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			start := time.Now()
			q, err := p.request(c, f)
			if err == nil {
				err = p.fulfil(q, c.Flags().Changed)
			}
			if err != nil && f.kind == single && f.json {
				// the error is what matters
				_ = printJSON(p.stdout, errorDocument(err, commandLine(c), start))
			}
			return advise(err)
		},
	}
	f.register(c.Flags())
	return c
}

// moved are flags of the bare command that are elsewhere now.
var moved = map[string]string{
	"numerics": `it is the command "sim train"`, "target-auc": `it belongs to "sim train"`,
	"evaluate-every": `it belongs to "sim train"`, "workers": `it belongs to "sim train"`,
	"spread": `it belongs to "sim train"`, "explain": `it is the command "sim explain"`,
	"staleness-trace": `it belongs to "sim run" and "sim train"`,
}

// flagError is cli.FlagError, but names the command that a flag has moved to.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && !c.HasParent() {
		if where := moved[unknown.GetSpecifiedName()]; where != "" {
			return cli.UsageError("see go run ./cmd/sim --help", "--%s: %s", unknown.GetSpecifiedName(),
				where)
		}
	}
	return cli.FlagError(c, err)
}

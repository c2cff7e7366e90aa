package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/process"
	"tandem/runtime/torch"
)

// program is what the command needs of the process that runs it.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool   // stderr is one
	dataDir        string // TANDEM_DATA
	now            func() time.Time
	args           []string // of the command line
	interrupt      *cli.Interruption
}

// flags are those of the command line. They change the job only where they are given.
type flags struct {
	file         string
	modes        []string
	modesChosen  bool // by a flag, a file or a table, and so not all of them
	onBadRow     string
	out          string
	json         bool
	ranks        int
	batch        int
	epochs       int
	staleness    int
	warmUp       int
	prefetch     int
	modeSet      []string
	wire         string
	delays       []string
	delayDense   bool
	hotRows      string
	hot          *float64 // hotRows, if a share is given
	every        string
	seed         uint64
	seeds        int
	faults       string
	slow         string
	retry        string
	record       bool
	processes    bool
	placement    string
	limits       process.Limits
	restarts     int
	fewer        bool
	redoLog      string
	rankRecovery bool
	cpuProfile   string
	metrics      string
	precision    string
	device       string
	module       string   // FILE:CLASS
	state        string   // the file of a state_dict to begin with
	without      []string // parts of the report

	table  table
	opened *datasets.Dataset // of table
	stream *datasets.Stream  // of table; nil: it does not arrive
	// validation is the share of training rows held back to choose epochs; 0: none.
	validation      float64
	validationGiven bool
	positiveWeight  float64
	checkpoints     *checkpoints
	chosen          chosen
	products        gemm.Products // of this process
	modules         *torch.Modules
	graph           []byte // of the module, for its models; nil: they have none

	notes []string // which modes are left out, and why; what a table's columns are
}

const usage = `Train a recommender model, in this process or in several, and compare the modes.

Without arguments: Persia's own example. The census income data set, part of
this program, is trained for one epoch in each mode, with Persia's net and
optimizers on 4 ranks, and also by a logistic regression. Then the simulator
predicts the speed of the same job on Persia's cluster.

With --data the job is made from a table: its columns are inferred, and what
they were taken for is printed. Pairs of columns and intervals of numbers become
slots if held-back rows are then predicted better, and the report names them. The
job.yaml in the results trains it again.

With --follow it trains on files as they arrive in a folder, without an end, and
predicts each before: see docs/online.md.

A job file (--file) describes other jobs; cmd/train/jobs/README.md explains it.
Relative paths in it start at the folder in the environment variable
TANDEM_DATA, or at the file's own folder if that is not set. Flags change the
job; a job file without flags is trained in its own mode.

With --processes the roles are processes of this machine (cmd/node), one each
or as the job's placement says, and talk through shared memory; this process is
their host. A process of data loader, embedding workers or coordinator that dies
is restarted, up to --deaths times; with --redo-log a PS, too, and with
--rank-recovery an NN worker. Any other death ends the run or, with
--checkpoint-every, makes all processes begin again with the newest checkpoint,
without those that cannot be started again.
Only sequential training, which has no roles, and the logistic regression run in
this process.

A terminal shows loss, AUC, speed and time left; elsewhere there is a line every
five seconds. With --evaluate-every the AUC is that of the latest evaluation.

Results go to a new folder: the results as a page (report.html), the resolved
job, the environment, the evaluations during training in curve.csv, event files
for TensorBoard, and for every mode with stale reads a trace for --delay. With
--record the folder also has every input of every role, which
"go run ./cmd/sim replay" replays bit for bit. Sequential training has no roles
and is not recorded.

--checkpoint-every saves the model as training goes, to
RESULTS/<mode>/checkpoints/<step>. Ctrl-C and SIGTERM end a training after the
batches in flight and save it there, too; the command that continues is printed.
A second signal stops at once, or when a checkpoint that is being written is
complete. A training in mode sync or sequential ends with the same bits as
without the interruption.

--faults injects faults into the messages between roles and crashes roles:
drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms,seed=1, and
crash=ROLE/INDEX@STEP+TIME, such as crash=embedding-worker/0@40+2s. --slow makes
roles wait after each piece of their work, so that it takes that many times as
long: nn-worker/1=1.5,embedding-ps=2.`

const examples = `  go run ./cmd/train
  go run ./cmd/train --data clicks.csv.gz --label clicked
  go run ./cmd/train --follow clicks --label clicked --checkpoint-every 2s
  go run ./cmd/train --mode hybrid --staleness 0 --ranks 8
  go run ./cmd/train --json > run.json
  go run ./cmd/train --processes --mode sync,hybrid
  go run ./cmd/train --processes --placement workers
  go run ./cmd/train --seeds 5 --mode sync,hybrid
  go run ./cmd/train --mode sequential,sync \
      --faults drop=0.01,crash=embedding-worker/0@40+2s
  go run ./cmd/train --mode sequential --delay "exactly 3" --delay "at-most 9"
  go run ./cmd/train --mode hybrid --evaluate-every "50 steps"
  go run ./cmd/train --mode sync --checkpoint-every 30s --out mine
  go run ./cmd/train --resume mine
  TANDEM_DATA=~/data go run ./cmd/train \
      --file cmd/train/jobs/criteo.yaml --on-bad-row skip:10`

func (p *program) command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "train", Short: "Train a recommender model and compare the modes", Long: usage + "\n\n" +
			job.ModeSettingsHelp(), Example: examples,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			j, err := f.job(c)
			if err != nil {
				return err
			}
			cli.PrintNotes(p.stderr, "train", f.notes)
			return profiled(f.cpuProfile, func() error { return p.run(c.Context(), j, f) })
		},
	}
	c.AddCommand(p.importPersia())
	cli.Configure(c, p.stdout, p.stderr)
	f.register(c.Flags())
	// It fails only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(job.Modes(),
		cobra.ShellCompDirectiveNoFileComp))
	return c
}

// register declares the flags in the order of the help. A default that depends on the job file
// is in the text.
func (f *flags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVarP(&f.file, "file", "f", "",
		"read the job from this YAML `FILE` (default: the census income job)")
	f.table.register(fs)
	fs.StringSliceVar(&f.modes, "mode", job.Modes(),
		"train in these `MODES` (default: all, or the job file's)")
	fs.IntVar(&f.ranks, "ranks", 4, "train on this many NN workers; in sync they must divide the job's "+
		"groups (default: 4, or the job file's)")
	fs.IntVar(&f.batch, "global-batch", 128, "train this many samples a step, over all ranks (default: "+
		"128, or the job file's)")
	fs.IntVar(&f.epochs, "epochs", 1, "pass over the training rows this often (default: 1, or the job "+
		"file's)")
	fs.Float64Var(&f.validation, "validation", 0, "first hold back this `SHARE` of the training rows, "+
		"choose the number of epochs that predicts them best, at most --epochs, and then train on all of "+
		"them; 0: do not (default with --data, unless --epochs is given: 0.1, and up to 0.3 of fewer "+
		"than 10,000 rows; else 0)")
	fs.Float64Var(&f.positiveWeight, "positive-weight", 1, "count a positive sample this often in the "+
		"loss, as `NUMBER`; the odds of predictions grow alike (default: 1, or the job file's)")
	f.stalenessFlags(fs)
	fs.StringSliceVar(&f.modeSet, "mode-set", nil,
		"set a setting of a mode to a value, `NAME=VALUE` as in every=16; see above; may be repeated")
	fs.StringVar(&f.wire, "wire", "fp32",
		"send embeddings and their gradients in this `PRECISION`: fp32, fp16 or fp16-block (default: "+
			"fp32, or the job file's)")
	fs.StringVar(&f.precision, "dense-precision", "fp32", "round what the dense network multiplies to "+
		"this `PRECISION`: fp32, bf16 or, on a GPU, tf32 (default: fp32, or the job file's)")
	fs.StringVar(&f.device, "device", "cpu", "compute the dense network of the ranks on this `DEVICE`: "+
		"cpu, cuda, or cuda with numbers, as in cuda:0,1 (default: cpu, or the job file's)")
	fs.StringVar(&f.module, "model", "", "train this `FILE:CLASS` as the dense network: a torch.nn.Module "+
		"in a Python file, as in net.py:Net; see docs/pytorch.md (default: the job's network)")
	fs.StringArrayVar(&f.delays, "delay", nil,
		`also train sequentially with row gradients that take effect late, by `+
			"this `DELAY`: "+
			`"exactly 3", "at-most 9", "geometric 2.5", "poisson 4", "distribution 5 3 2" or "trace FILE"; `+
			`may be repeated`)
	fs.BoolVar(&f.delayDense, "delay-dense", false,
		"with --delay, delay the gradients of the dense network as well")
	f.hotRowsFlag(fs)
	fs.StringVar(&f.every, "evaluate-every", "never",
		"predict the test rows during training, at this `INTERVAL`, as "+
			`"500 steps" or 30s (default: never, or the job file's)`)
	fs.Uint64Var(&f.seed, "seed", 1, "seed parameters, rows and the order of samples with this `NUMBER` "+
		"(default: 1, or the job file's)")
	fs.IntVar(&f.seeds, "seeds", 1, "train every mode with this many seeds, and print 95 % intervals")
	fs.StringVar(&f.faults, "faults", "none", "inject `FAULTS`; see above (default: the job file's, or none)")
	fs.StringVar(&f.slow, "slow", "none", "make `ROLES` slow; see above (default: the job file's, or none)")
	fs.StringVar(&f.retry, "retry", "", "ask again after this `TIME` without an answer (default: the job "+
		"file's, or 100ms with faults, 1s with --processes, else never)")
	f.processFlags(fs)
	f.checkpointFlags(fs)
	fs.StringVar(&f.onBadRow, "on-bad-row", "fail",
		"handle malformed rows by this `RULE`: fail, or skip:N to drop and count up to N of them "+
			"(default: fail, or the job file's)")
	fs.StringVar(&f.out, "out", "", "write the results to this new or empty `FOLDER` (default: "+
		"results/<time>-<name>)")
	fs.BoolVar(&f.record, "record", false, "record every run that has roles, for go run ./cmd/sim replay")
	fs.StringVar(&f.cpuProfile, "cpu-profile", "",
		"write a CPU profile of this process to this `FILE`, for go tool pprof")
	f.metricsFlag(fs)
	f.withoutFlag(fs)
	fs.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	cli.DefaultInText(fs, "mode", "ranks", "global-batch", "epochs", "validation", "positive-weight",
		"staleness", "staleness-warm-up", "wire", "dense-precision", "device", "evaluate-every", "seed",
		"faults", "slow", "placement", "on-bad-row")
}

// job returns the job of the command line: the file, and what flags change.
func (f *flags) job(c *cobra.Command) (job.Job, error) {
	if err := f.checkModes(); err != nil {
		return job.Job{}, err
	}
	j, err := f.first(c)
	if err != nil {
		return j, err
	}
	if (f.file != "" || f.table.any()) && !c.Flags().Changed("mode") {
		f.modes = []string{j.Training.Mode}
	}
	if err := f.check(c.Flags()); err != nil {
		return j, err
	}
	if err := f.change(&j, c.Flags()); err != nil {
		return j, err
	}
	if f.table.any() {
		f.table.suit(&j, f, c.Flags())
	}
	if err := j.AddModeSettings(f.modeSet, f.modes); err != nil {
		return j, cli.UsageError("see --help for the settings of each mode, and choose modes with --mode",
			"--mode-set: %v", err)
	}
	if err := errors.Join(f.checkPlacement(&j), f.checkCheckpoints(&j, c.Flags())); err != nil {
		return j, err
	}
	if err := f.openInitial(&j); err != nil {
		return j, err
	}
	if err := f.checkFollow(&j, c.Flags()); err != nil {
		return j, err
	}
	if err := f.suitModes(&j, f.file != "" || f.table.any() || c.Flags().Changed("mode")); err != nil {
		return j, err
	}
	if err := j.ValidateShared(); err != nil {
		return j, fmt.Errorf("job %s: %w", j.Name, err)
	}
	if err := j.ValidateModeSettings(f.modes); err != nil {
		return j, fmt.Errorf("job %s: %w", j.Name, err)
	}
	for _, name := range []string{"staleness", "staleness-warm-up"} {
		if c.Flags().Changed(name) && !f.stale(j) {
			f.notes = append(f.notes, "--"+name+" has no effect in "+strings.Join(f.modes, " and "))
		}
	}
	if c.Flags().Changed("faults") || c.Flags().Changed("slow") {
		return j, checkRoles(&j, f.modes)
	}
	return j, nil
}

// checkModes refuses modes that do not exist, or are named twice.
func (f *flags) checkModes() error {
	for i, mode := range f.modes {
		if !slices.Contains(job.Modes(), mode) {
			return cli.UsageError("modes are "+strings.Join(job.Modes(), ", "),
				"--mode: %s", job.Unknown(mode, job.Modes()))
		}
		if slices.Contains(f.modes[:i], mode) {
			return cli.UsageError("name each mode once", "--mode: %q is named twice", mode)
		}
	}
	return nil
}

// first returns the job that flags change: that of the file, of the table, or the census income job.
func (f *flags) first(c *cobra.Command) (job.Job, error) {
	given := c.Flags()
	if err := f.table.check(given); err != nil {
		return job.Job{}, err
	}
	switch {
	case f.checkpoints.resume != "":
		return f.resumed(given)
	case f.file != "":
		j, err := job.Load(f.file)
		if err == nil {
			err = job.CheckModule(&j.Model.Spec)
		}
		return j, err
	case f.table.file != "":
		j, set, note, err := f.table.open(f.onBadRow)
		f.opened, f.notes = set, append(f.notes, note)
		return j, err
	case f.table.follow != "":
		if err := f.checkBeforeStream(given); err != nil {
			return job.Job{}, err
		}
		j, note, err := f.openStream(c.Context(), c.InOrStdin(), c.ErrOrStderr())
		f.notes = append(f.notes, note)
		return j, err
	}
	return job.AdultIncome(), nil
}

// stale reports whether a mode's reads of embeddings may be stale.
func (f *flags) stale(j job.Job) bool {
	return slices.ContainsFunc(inModes(j, f.modes), func(one job.Job) bool {
		rule, err := one.Rule() // an error for sequential training
		return err == nil && !rule.InStep()
	})
}

// The parts of a training and its report that --without leaves out.
const (
	baselinePart, derivedPart      = "baseline", "derived"
	importancePart, predictionPart = "importance", "prediction"
)

var reportParts = []string{baselinePart, derivedPart, importancePart, predictionPart}

// stalenessFlags declares the flags of how late rows may be.
func (f *flags) stalenessFlags(fs *pflag.FlagSet) {
	fs.IntVar(&f.staleness, "staleness", 9,
		"let this many earlier batches of a rank be outstanding (τ); no effect in sync and "+
			"backup-workers (default: 9, or the job file's)")
	fs.IntVar(&f.warmUp, "staleness-warm-up", 0,
		"let τ grow from 0 over this many `STEPS`; no effect in sync and backup-workers (default: "+
			"0, or the job file's)")
	fs.IntVar(&f.prefetch, "prefetch", 0,
		"keep this many batches of a rank in flight, at least τ+1 (default: τ+1)")
}

// hotRowsFlag declares the flag of hot rows.
func (f *flags) hotRowsFlag(fs *pflag.FlagSet) {
	fs.StringVar(&f.hotRows, "hot-rows", "", "keep the rows that at least this `SHARE` of the training "+
		"samples contain on every rank, in modes sync and hybrid: 0.001, or auto; with --delay, update them "+
		"without delay (default: no row, or the job file's)")
}

// automaticRows is the value of --hot-rows that leaves the share to the job.
const automaticRows = "auto"

// checkHotRows refuses a share that is none, and keeps the number.
func (f *flags) checkHotRows(given *pflag.FlagSet) error {
	if !given.Changed("hot-rows") || f.hotRows == automaticRows && len(f.delays) == 0 {
		return nil
	}
	share, err := strconv.ParseFloat(f.hotRows, 64)
	switch {
	case len(f.delays) == 0 && (err != nil || !(share > 0 && share <= 1)):
		return cli.UsageError("see --help", "--hot-rows: %s; want a share of the samples, above 0 and at "+
			"most 1, or %s", f.hotRows, automaticRows)
	case err != nil || !(share >= 0) || math.IsInf(share, 1):
		return cli.UsageError("see --help", "--hot-rows: %s; want a share of the samples, 0 or more",
			f.hotRows)
	}
	f.hot = &share
	return nil
}

// withoutFlag declares the flag that leaves parts out.
func (f *flags) withoutFlag(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.without, "without", nil, "leave out these `PARTS`: baseline (a logistic "+
		"regression, slow with many rows; with --data it is then no candidate either, and no slots are "+
		"derived), derived (slots of combined columns, and of intervals of numbers), importance (of the "+
		"columns, in report.html and result.json) or prediction (of the speed on a cluster, by the "+
		"simulator)")
}

// check refuses flags that do not go together.
func (f *flags) check(given *pflag.FlagSet) error {
	if err := f.checkProcesses(given); err != nil {
		return err
	}
	if f.delayDense && len(f.delays) == 0 {
		return cli.UsageError(`add --delay, as --delay "exactly 3"`, "--delay-dense: nothing is delayed")
	}
	if err := f.checkHotRows(given); err != nil {
		return err
	}
	if f.validationGiven = given.Changed("validation"); !(f.validation >= 0 && f.validation < 1) {
		return cli.UsageError("0.1 holds back a tenth of the training rows",
			"--validation: %v; want a share of at least 0 and below 1", f.validation)
	}
	if f.seeds < 1 {
		return cli.UsageError("5 seeds or more make an interval worth reading",
			"--seeds: %d; want at least 1", f.seeds)
	}
	if f.record && !slices.ContainsFunc(f.modes, func(mode string) bool { return mode != job.Sequential }) {
		return cli.UsageError("name another mode with --mode",
			"--record: sequential training has no roles, so there is nothing to record")
	}
	for i, part := range f.without {
		part = strings.TrimSpace(part)
		f.without[i] = part
		if !slices.Contains(reportParts, part) {
			return cli.UsageError("parts are "+strings.Join(reportParts, ", "), "--without: %s",
				job.Unknown(part, reportParts))
		}
	}
	return nil
}

// change applies the flags that are given to the job.
func (f *flags) change(j *job.Job, given *pflag.FlagSet) error {
	for name, set := range map[string]func() error{
		"ranks":             func() error { j.Roles.Ranks = f.ranks; return nil },
		"rank-recovery":     func() error { j.Roles.RankRecovery = f.rankRecovery; return nil },
		"global-batch":      func() error { j.Training.GlobalBatch = f.batch; return nil },
		"epochs":            func() error { j.Training.Epochs = f.epochs; return nil },
		"seed":              func() error { j.Training.Seed = f.seed; return nil },
		"staleness":         func() error { j.Training.Staleness = &f.staleness; return nil },
		"staleness-warm-up": func() error { j.Training.StalenessWarmUp = f.warmUp; return nil },
		"hot-rows": func() error {
			switch {
			case len(f.delays) > 0: // it belongs to these
			case f.hot == nil:
				j.Rows.Hot.Auto, j.Rows.Hot.Share = true, 0
			default:
				j.Rows.Hot.Auto, j.Rows.Hot.Share = false, *f.hot
			}
			return nil
		},
		"prefetch": func() error { j.Training.Prefetch = f.prefetch; return nil },
		"wire": func() error {
			if !slices.Contains(job.WirePrecisions(), f.wire) {
				return errors.New(job.Unknown(f.wire, job.WirePrecisions()))
			}
			j.Wire.Precision = compress.Form(f.wire)
			return nil
		},
		"dense-precision": func() error {
			if !slices.Contains(job.DensePrecisions(), f.precision) {
				return errors.New(job.Unknown(f.precision, job.DensePrecisions()))
			}
			j.Model.Precision = f.precision
			return nil
		},
		"device": func() (err error) { j.Model.Device, err = job.ParseDevice(f.device); return err },
		"model":  func() error { return f.setModule(j) },
		"faults": func() (err error) { j.Faults, err = fault.Parse(f.faults); return err },
		"slow":   func() (err error) { j.Slow, err = fault.ParseSlow(f.slow); return err },
		"retry":  func() (err error) { j.Wire.Retry, err = job.ParseRetry(f.retry); return err },
		"placement": func() (err error) {
			j.Roles.Placement,
				err = job.ParsePlacement(f.placement)
			return err
		},
		"positive-weight": func() error { return setPositiveWeight(j, f.positiveWeight, f.table.any()) },
		"evaluate-every":  func() error { return j.Training.EvaluateEvery.UnmarshalText([]byte(f.every)) },
		"on-bad-row":      func() error { return j.Data.OnBadRow.UnmarshalText([]byte(f.onBadRow)) },
	} {
		if !given.Changed(name) {
			continue
		}
		if err := set(); err != nil {
			return cli.UsageError("see --help", "--%s: %v", name, err)
		}
	}
	return nil
}

// suitModes refuses a chosen mode that cannot train on the job's ranks. If all modes are
// trained, it leaves such a mode out with a note.
func (f *flags) suitModes(j *job.Job, chosen bool) error {
	f.modesChosen = chosen
	if f.record && f.processes && j.HasHotRows() && j.Rows.Hot.Every > 0 {
		return cli.UsageError("record a training in one process, or leave rows.hot.every out",
			"--record: hot rows are chosen again at checkpoints in processes, and a recorded training in "+
				"processes has none")
	}
	var suited []string
	for _, one := range inModes(*j, f.modes) {
		var ranks *job.RanksError
		var hot *job.HotRowsError
		switch err := one.Validate(); {
		case !errors.As(err, &ranks) && !errors.As(err, &hot):
			suited = append(suited, one.Training.Mode)
		case chosen:
			other := "choose other --ranks"
			if hot != nil {
				other = "train without hot rows"
			}
			return cli.UsageError("leave "+one.Training.Mode+" out of --mode, or "+other,
				"--mode %s: %v", one.Training.Mode, err)
		default:
			f.notes = append(f.notes, fmt.Sprintf("%s is left out: %v", one.Training.Mode, err))
		}
	}
	if len(suited) == 0 {
		return cli.UsageError("name a mode, or leave --mode out for all", "--mode: none of the modes can run")
	}
	f.keepModes(j, suited)
	return nil
}

// keepModes trains some of the modes alone. A job whose own mode is not trained gets the first that is.
func (f *flags) keepModes(j *job.Job, suited []string) {
	f.modes = suited
	if slices.Contains(suited, j.Training.Mode) {
		return
	}
	former := *j
	*j = former.InMode(suited[0])
	j.Training.ModeSettings = map[string]int{}
	for name, value := range former.Training.ModeSettings { // order-free: each is kept or left on its own
		if hasSetting(name, suited...) || !hasSetting(name, former.Training.Mode) {
			j.Training.ModeSettings[name] = value
		}
	}
}

// hasSetting reports whether one of the modes has a setting with this name.
func hasSetting(name string, modes ...string) bool {
	return slices.ContainsFunc(modes, func(mode string) bool {
		return slices.ContainsFunc(pace.SettingsOf(mode), func(s pace.Setting) bool { return s.Name == name })
	})
}

// checkRoles refuses a crash or slowness of a role that a mode does not have.
func checkRoles(j *job.Job, modes []string) error {
	for _, one := range inModes(*j, modes) {
		rule, err := one.Rule()
		if err != nil {
			continue // sequential training has no roles, and no faults
		}
		cfg := role.Config{Ranks: int32(j.Roles.Ranks), EmbeddingWorkers: int32(j.Roles.EmbeddingWorkers),
			EmbeddingPSs: int32(j.Roles.EmbeddingPSs), Rule: rule}
		if rule.Dense().DensePSs {
			cfg.DensePSs = make([]unit.Bytes, j.Roles.DensePSs)
		}
		if err := j.Faults.ValidateRoles(&cfg); err != nil {
			return cli.UsageError("crash a role that every mode has, or choose modes with --mode",
				"faults of %s: %v", one.Training.Mode, err)
		}
		if err := j.Slow.ValidateRoles(&cfg); err != nil {
			return cli.UsageError("slow down a role that every mode has, or choose modes with --mode",
				"slow roles of %s: %v", one.Training.Mode, err)
		}
	}
	return nil
}

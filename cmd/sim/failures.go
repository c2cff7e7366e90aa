package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/train"
	"tandem/sim/goodput"
	"tandem/sim/predict"
)

const goodputUsage = `Predict what failures cost a training, and how often its model is best saved.

The simulator predicts the speed of a training, and lets it fail in virtual
time: processes and machines die at random, and training recovers as in
cmd/train, by the policy of --recover:
  checkpoint  loaders, embedding workers and the coordinator of ssp return
              alone; when another process dies, all begin again with the newest
              checkpoint, and steps are trained again
  log         as checkpoint, but PSs have redo logs (train --redo-log): they
              read the checkpoint and handle their inputs since then again. The
              log is lost with its machine
  ranks       as checkpoint, but in sync and hybrid a rank comes back with the
              parameters of another (train --rank-recovery)
  log,ranks   both
  none        there are no checkpoints: a death ends the run, and it is trained
              from the beginning
--mtbf names the mean time between failures of one process of a role, or of one
machine, which takes all its processes along, as in nn-worker=200h,node=1000h.

For a checkpoint, training stands still until its batches in flight are done and
the processes have met again (0.2 s, as measured). The hosts then write their
parts while they train, as those of cmd/train do, and until all have, the
checkpoint does not exist. Where the tables are on the accelerators, training
stands still until it is written. The times follow from the bytes of rows,
optimizers and network, from --disk and the network cards.

The report has the useful samples a second with the interval over trainings and
over what is not known of the speed, what the lost time went into, the best
interval between checkpoints and how flat the optimum is, beside Young's and
Daly's formulas. With --preempted-every it says below which share of the price
on demand machines that are taken away are worth it; --spot says which you pay.
--json prints one object, whose shares are parts of the time.
` + common

const goodputExamples = `  go run ./cmd/sim goodput
  go run ./cmd/sim goodput --gpus 64 --mtbf nn-worker=200h,node=1000h
  go run ./cmd/sim goodput --preset dgx-h100 --gpus 64 --preempted-every 6h \
      --spot 0.4
  go run ./cmd/sim goodput --recover log --mtbf embedding-ps=100h --disk 500MB/s
  go run ./cmd/sim goodput --file cmd/train/jobs/frappe.yaml \
      --mtbf nn-worker=2h --pause 1s --write 10s --read 5s --restart 1min`

// noticeDefault is how long a process may be silent in the runtime (--hang-limit).
const noticeDefault = 5 * unit.Second

// meeting is the time in which processes that have drained end a part of a run and begin the next: as
// measured, 0.1 s to 0.5 s for eight processes on two cores.
const meeting = 200 * unit.Millisecond

// The policies of recovery. Those that can be combined are means besides checkpoints.
const (
	byCheckpoint = "checkpoint"
	byLog        = "log"
	byRanks      = "ranks"
	byNothing    = "none"
)

// gpuFailure is the mean time between failures of a GPU with its part of everything else, without --mtbf: 419
// unexpected interruptions in 54 days of a training on 16,384 GPUs (Llama Team, "The Llama 3 Herd of Models",
// 2024, section 3.3.4), rounded.
const gpuFailure = "nn-worker=50000h"

// failures are the flags about failures and what follows.
type failures struct {
	mtbf      []string
	preempted unit.Tick // mean time until a machine with GPUs is taken away; 0: never
	spot      float64   // part of the price of GPUs and their servers that is paid
	every     train.Saving
	policy    []string
	notice    unit.Tick
	restart   unit.Tick
	provision unit.Tick
	disk      unit.BytesPerSec
	pause     unit.Tick
	write     unit.Tick
	read      unit.Tick
	replay    float64
	length    unit.Tick
	trainings int

	between map[string]unit.Tick // by name, of mtbf
}

// register declares the flags.
func (x *failures) register(fs *pflag.FlagSet) {
	fs.StringSliceVar(&x.mtbf, "mtbf", []string{gpuFailure}, "let one process of a role, or one machine, "+
		"fail after this mean time, `NAME=TIME` as in nn-worker=200h or node=1000h; may be repeated "+
		"(default: "+gpuFailure+", as measured on 16,384 GPUs)")
	cli.DefaultInText(fs, "mtbf")
	fs.TextVar(&x.preempted, "preempted-every", unit.Tick(0), "let each machine with GPUs be taken away "+
		"after this mean `TIME`, as spot instances are (default: never)")
	cli.DefaultInText(fs, "preempted-every")
	registerSpot(fs, &x.spot)
	fs.TextVar(&x.every, "checkpoint-every", train.Saving{Auto: true}, "save the model at this `INTERVAL`, "+
		"as 10min or \"500 steps\", or auto for the best")
	fs.StringSliceVar(&x.policy, "recover", []string{byCheckpoint}, "recover by this `POLICY`: checkpoint, "+
		"log, ranks, log,ranks or none; see above (default: checkpoint)")
	fs.TextVar(&x.notice, "notice", noticeDefault, "notice a failure after this `TIME`; the "+
		"default is the limit of silence, and a process that ends is noticed at once")
	fs.TextVar(&x.restart, "restart", 30*unit.Second, "start a process again in this `TIME`")
	fs.TextVar(&x.provision, "provision", 5*unit.Minute, "get another machine, and start its processes, in "+
		"this `TIME`")
	fs.TextVar(&x.disk, "disk", unit.BytesPerSec(1e9), "let each host write and read checkpoints at this "+
		"`RATE`, or at that of its network cards if it is lower (default: 1GB/s)")
	cli.DefaultInText(fs, "disk")
	fs.TextVar(&x.pause, "pause", unit.Tick(0), "stand still for this `TIME` for a checkpoint (default: "+
		"see above; with tables on the accelerators, until it is written)")
	fs.TextVar(&x.write, "write", unit.Tick(0), "write a checkpoint in this `TIME`, beside training "+
		"(default: from its bytes)")
	fs.TextVar(&x.read, "read", unit.Tick(0), "read a checkpoint in this `TIME` (default: from its bytes)")
	cli.DefaultInText(fs, "recover", "pause", "write", "read")
	fs.Float64Var(&x.replay, "replay", 0, "let a PS handle its inputs again in this `SHARE` of the time "+
		"in which it has received them (default: the mean number of its threads that work)")
	cli.DefaultInText(fs, "replay")
	fs.TextVar(&x.length, "length", 7*24*unit.Hour, "train for this `TIME`, if nothing failed and nothing "+
		"was saved")
	fs.IntVar(&x.trainings, "trainings", 200, "simulate this many trainings, or fewer if they have "+
		"very many failures")
}

// trainingsMax bounds --trainings.
const trainingsMax = 10_000

// checkFailures refuses what no training can have, and reads --mtbf.
func (q *request) checkFailures(given func(string) bool) error {
	x := &q.failures
	if q.kind != failing {
		return nil
	}
	if err := q.checkPolicy(); err != nil {
		return err
	}
	switch {
	case x.by(byNothing) && given("checkpoint-every"):
		return cli.UsageError("leave one of them out", "--checkpoint-every: with --recover none there are "+
			"no checkpoints")
	case !x.every.Any():
		return cli.UsageError("with --recover none there are no checkpoints", "--checkpoint-every: want an "+
			"interval, or auto")
	case !(x.disk > 0) || x.disk > job.RateMax:
		return cli.UsageError("a rate has a unit, as 500MB/s", "--disk: %v; want a rate above 0 and at most "+
			"%v", x.disk, job.RateMax)
	case !(x.replay >= 0 && x.replay <= 100):
		return cli.UsageError("0.2 is a fifth of the time of training", "--replay: %v; want 0 to 100",
			x.replay)
	case given("spot") && given("dollars-per-gpu-hour"):
		return cli.UsageError("leave --spot out, and give what you pay",
			"--spot and --dollars-per-gpu-hour: want one of the two")
	case x.trainings < 1 || x.trainings > trainingsMax:
		return cli.UsageError("see --help", "--trainings: %d; want 1 to %d", x.trainings, trainingsMax)
	}
	for _, t := range []struct {
		name     string
		time     unit.Tick
		positive bool
	}{
		{"preempted-every", x.preempted, given("preempted-every")}, {"notice", x.notice, false},
		{"restart", x.restart, false}, {"provision", x.provision, false}, {"pause", x.pause, false},
		{"write", x.write, false}, {"read", x.read, false}, {"length", x.length, true},
	} {
		if err := checkTime("--"+t.name, t.time, t.positive); err != nil {
			return err
		}
	}
	return cmp.Or(checkSpot(x.spot), q.checkBetween())
}

// by reports whether a policy is among those of recovery.
func (x *failures) by(policy string) bool { return slices.Contains(x.policy, policy) }

// checkPolicy refuses policies that are unknown, that exclude each other or that the job does not have.
func (q *request) checkPolicy() error {
	x := &q.failures
	policies := []string{byCheckpoint, byLog, byRanks, byNothing}
	for _, p := range x.policy {
		if !slices.Contains(policies, p) {
			return unknown("--recover", p, policies)
		}
	}
	const remedy = "choose --recover checkpoint"
	switch {
	case len(x.policy) == 0 || x.by(byNothing) && len(x.policy) > 1:
		return cli.UsageError(remedy, "--recover %q: want policies that go together",
			strings.Join(x.policy, ","))
	case x.by(byLog) && q.graph():
		return cli.UsageError(remedy, "--recover log: system %s has no PSs", q.hardware.System.Name)
	case x.by(byRanks) && q.job.HasRowsOnGPU():
		return cli.UsageError(remedy, "--recover ranks: %s loses rows with a rank",
			q.job.GPUSetting())
	case x.by(byRanks) && q.graph():
		return cli.UsageError(remedy, "--recover ranks: the ranks of system %s hold different rows",
			q.hardware.System.Name)
	}
	return nil
}

// timeMax bounds every time.
const timeMax = 100 * 365 * 24 * unit.Hour

// checkTime refuses a time that is negative, too long or, if it must be positive, 0.
func checkTime(name string, t unit.Tick, positive bool) error {
	const hint = "write a time with its unit, as 30s, 10min, 200h or 7d"
	switch {
	case t < 0 || t > timeMax:
		return cli.UsageError(hint, "%s: %v; want 0 to 100 years", name, t)
	case positive && t == 0:
		return cli.UsageError(hint, "%s: %v; want more than 0", name, t)
	}
	return nil
}

// checkBetween reads --mtbf.
func (q *request) checkBetween() error {
	x := &q.failures
	x.between = map[string]unit.Tick{}
	for _, text := range x.mtbf {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return cli.UsageError("write it as nn-worker=200h", "--mtbf: %q; want NAME=TIME", text)
		}
		if _, twice := x.between[name]; twice {
			return cli.UsageError("give each name one time", "--mtbf: %s is named twice", name)
		}
		t, err := unit.ParseTick(value)
		if err != nil {
			return cli.UsageError("write a time with its unit, as 200h or 30d", "--mtbf: %s: %v", name, err)
		}
		if err := checkTime("--mtbf: "+name, t, true); err != nil {
			return err
		}
		x.between[name] = t
	}
	return nil
}

// kinds returns the failures of a job whose machines with GPUs are taken away after a mean time; 0: never.
func (q *request) kinds(j *predict.Job, preempted unit.Tick) (kinds []goodput.Kind, err error) {
	x := &q.failures
	victims, err := goodput.Victims(j, goodput.Means{RedoLogs: x.by(byLog), Ranks: x.by(byRanks)})
	if err != nil {
		return nil, err
	}
	var known []string
	for i := range victims {
		v := &victims[i]
		if !slices.Contains(known, v.Name) {
			known = append(known, v.Name)
		}
		restart := x.restart
		if v.Name == goodput.Node {
			restart = x.provision
		}
		if between, fails := x.between[v.Name]; fails {
			kinds = append(kinds, goodput.Kind{Name: v.Label(), Count: v.Count, Between: between,
				Consequence: v.Consequence, Restart: restart})
		}
		if v.Name == goodput.Node && v.GPUs && preempted > 0 {
			kinds = append(kinds, goodput.Kind{Name: v.Label() + " preempted", Count: v.Count,
				Between: preempted, Consequence: v.Consequence, Restart: restart})
		}
	}
	for _, text := range x.mtbf {
		name, _, _ := strings.Cut(text, "=")
		if slices.Contains(known, name) {
			continue
		}
		return nil, unknown("--mtbf", name, known)
	}
	return kinds, nil
}

// plan returns the training that can fail, without an interval, and the size of its checkpoints unless their
// times were given.
func (q *request) plan(d *failingReport, kinds []goodput.Kind) (p *goodput.Plan, size *goodput.Size,
	err error) {
	x := &q.failures
	p = &goodput.Plan{Length: x.length, Notice: x.notice, Replay: x.replay, Kinds: kinds,
		Copy: goodput.CopyTime(d.job)}
	if !d.given("replay") {
		p.Replay = goodput.ReplayShare(&d.Mid)
	}
	if x.by(byNothing) {
		return p, nil, nil
	}
	p.Pause, p.Write, p.Read = x.pause, x.write, x.read
	if !d.given("write") || !d.given("read") {
		s, err := goodput.SizeOf(d.job)
		if err != nil {
			return nil, nil, &cli.Error{Err: err,
				Hint: "give the times of a checkpoint by --write and --read"}
		}
		size = &s
		if !d.given("read") {
			p.Read = s.Time(x.disk)
		}
		if !d.given("write") {
			p.Write = s.Time(x.disk)
		}
	}
	switch {
	case d.given("pause"):
	case d.Mid.Roles == nil:
		p.Pause, p.Write = p.Write, 0
	default:
		drain, err := predict.Pipeline(d.job, nil)
		if err != nil {
			return nil, nil, err
		}
		p.Pause = drain + meeting
	}
	return p, size, nil
}

// interval returns the time between checkpoints that was given; 0 stands for the best.
func (x *failures) interval(d *failingReport) (every unit.Tick, err error) {
	if x.every.Auto {
		return 0, nil
	}
	every = x.every.Every.Time
	if x.every.Every.Steps > 0 {
		every = d.Mid.StepTime.Scale(float64(x.every.Every.Steps))
	}
	if least := goodput.Shortest(x.length); every < least {
		return 0, cli.UsageError("save less often, or simulate a shorter --length",
			"--checkpoint-every: %s; want at least %s in a training of %s", span(every), span(least),
			span(x.length))
	}
	return every, checkTime("--checkpoint-every", every, true)
}

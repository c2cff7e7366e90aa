package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/driver"
	"tandem/runtime/train"
)

// recoveryFlags declares the flags of recoveries.
func (f *flags) recoveryFlags(fs *pflag.FlagSet) {
	fs.IntVar(&f.restarts, "restarts", train.DefaultRestartsMax, "with --processes and --checkpoint-every, "+
		"begin again this often with one checkpoint when a process is lost that cannot come back by itself; "+
		"0: end")
	fs.BoolVar(&f.fewer, "fewer", true, "with --processes and --checkpoint-every, go on without a "+
		"process that does not come back within --return-limit, if the mode can, until it is there again")
	fs.StringVar(&f.redoLog, "redo-log", "", "with --processes and --checkpoint-every, let PSs keep their "+
		"inputs since the checkpoint in this `FOLDER`, so that one that dies comes back with nothing lost "+
		"(default: they do not)")
	fs.BoolVar(&f.rankRecovery, "rank-recovery", false, "prepare NN workers in sync and hybrid to come back "+
		"after their death, with the parameters of another one and nothing lost (roles.rank-recovery)")
}

// checkRecovery refuses flags of recovery that have no effect.
func (f *flags) checkRecovery(fs *pflag.FlagSet) error {
	switch {
	case f.restarts < 0:
		return cli.UsageError("see --help", "--restarts: %d; want at least 0", f.restarts)
	case fs.Changed("restarts") && f.restarts > 0 && !f.checkpoints.every.Any():
		return cli.UsageError("add --checkpoint-every, as --checkpoint-every 1m",
			"--restarts: there are no checkpoints to begin again with")
	case fs.Changed("fewer") && f.fewer && !f.checkpoints.every.Any():
		return cli.UsageError("add --checkpoint-every, as --checkpoint-every 1m",
			"--fewer: there are no checkpoints to begin again with")
	case f.redoLog != "" && !f.checkpoints.every.Any():
		return cli.UsageError("add --checkpoint-every, as --checkpoint-every 1m",
			"--redo-log: without checkpoints the log would have all that was ever trained")
	}
	return nil
}

// recovers makes a training in processes that has checkpoints begin again when it loses one of them.
func (p *program) recovers(o *train.Options, restarts int) {
	o.RestartsMax, o.SetAside = restarts, checkpoint.SetAside
	o.Lost = func(r train.Recovery) { fmt.Fprintf(p.stderr, "train: %v\n", r) }
}

// withCheckpoints adds to the error of a lost process how a training survives one.
func withCheckpoints(err error) error {
	if !errors.As(err, new(*driver.LostError)) {
		return err
	}
	return &cli.Error{Err: err,
		Hint: "with --checkpoint-every 1m a training goes on by itself after the death of any process"}
}

// recovery is a train.Recovery for the report.
type recovery struct {
	Lost  string  `json:"lost"`           // which process, and why
	Step  int     `json:"step"`           // after which training began again
	Again int     `json:"steps_repeated"` // trained before the loss, and again after it
	Down  float64 `json:"down_s"`         // from the loss until training went on
}

// replay is a train.Replay for the report.
type replay struct {
	Took float64 `json:"took_s"` // to handle inputs again
	Of   float64 `json:"of_s"`   // in which the process had received them
}

// replays returns those of a training for the report.
func replays(result *train.Result) (all []replay) {
	for _, r := range result.Replays {
		all = append(all, replay{r.Took.Seconds(), r.Of.Seconds()})
	}
	return all
}

// recoveries returns those of a training for the report.
func recoveries(result *train.Result) (all []recovery) {
	for _, r := range result.Recoveries {
		all = append(all, recovery{r.Lost.Error(), r.Step, r.Again, r.Down.Seconds()})
	}
	return all
}

// recoveryNote says what losses have cost a training, if it had any.
func recoveryNote(result *train.Result) []string {
	if len(result.Recoveries) == 0 {
		return nil
	}
	var down time.Duration
	again := 0
	for _, r := range result.Recoveries {
		down, again = down+r.Down, again+r.Again
	}
	times := "once"
	if n := len(result.Recoveries); n > 1 {
		times = fmt.Sprintf("%d times", n)
	}
	return []string{strings.Join([]string{"training began again " + times,
		fmt.Sprintf("stood still for %.1f s", down.Seconds()),
		"and repeated " + plural(again, "step")}, ", ")}
}

package role

import (
	"fmt"

	"tandem/algo/msg"
	"tandem/algo/pace"
	"tandem/algo/unit"
)

// strategy is what the roles of a mode do in their own way to keep dense parameters together: a value for
// each pace.Strategy, in the file that has its types.
type strategy struct {
	// worker returns the NN workers' part.
	worker func(cfg *Config) denseSync
	// puts and pushes say when an embedding PS applies puts and a dense PS pushes; nil: as the rule's InStep says,
	// and at once.
	puts, pushes func(cfg *Config) closing
	// coordinator returns the coordinator of a run, where the mode has one.
	coordinator func(cfg *Config) Role
	// irreplaceable says that nobody else knows what the coordinator has decided.
	irreplaceable bool
}

var strategies = map[pace.Strategy]strategy{}

// register adds a strategy. It is for the init function of the file that has its types.
func register(name pace.Strategy, s strategy) { strategies[name] = s }

func (c *Config) strategy() strategy { return strategies[c.Rule.Dense().Strategy] }

func (c *Config) validateStrategy() error {
	name := c.Rule.Dense().Strategy
	if _, known := strategies[name]; !known {
		return fmt.Errorf("role: %s keeps dense parameters together by %q, which no file of package role defines", c.Rule.Name(), name)
	}
	return nil
}

// CanRestart reports whether a role of this run recovers from a crash: see the function CanRestart.
func (c *Config) CanRestart(r msg.Role) bool {
	return CanRestart(r) && !(r == msg.Coordinator && c.strategy().irreplaceable)
}

// denseSync is how one NN worker keeps its dense parameters together with those of the other ranks. Its methods
// are called in the course of the worker's steps.
type denseSync interface {
	// received takes a message of a kind that the worker itself knows nothing of.
	received(w *NNWorker, now unit.Tick, m msg.Message, out *Outputs)
	// bucketReduced notes that a fed bucket is summed.
	bucketReduced(in *Input)
	// worked takes work that the strategy has asked for.
	worked(w *NNWorker, now unit.Tick, in *Input, out *Outputs)
	// advance does, after each input, what can be done by now.
	advance(w *NNWorker, now unit.Tick, out *Outputs)
	// ready reports whether the rank's parameters are those to start FC of b with, and asks for them.
	ready(w *NNWorker, b *training, out *Outputs) bool
	// reads returns what FC and BC of a step read, beside samples and embeddings, until BC has ended.
	reads(w *NNWorker, step int32) []Handle
	// resend asks again for whatever was not answered.
	resend(w *NNWorker, out *Outputs)
	// finished reports whether nothing is under way after the last step.
	finished(w *NNWorker) bool
	clone() denseSync
	appendState(dst []byte) []byte
}

// alone is the denseSync of ranks that hear of each other by all-reduces only.
type alone struct{}

func (alone) received(*NNWorker, unit.Tick, msg.Message, *Outputs) {}
func (alone) ready(*NNWorker, *training, *Outputs) bool            { return true }
func (alone) reads(*NNWorker, int32) []Handle                      { return nil }
func (alone) resend(*NNWorker, *Outputs)                           {}

package role

import (
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// strategy is what roles do to keep dense parameters together, and, where that differs from other modes, when
// servers apply gradients. There is one for each pace.Strategy, in the file that has its types.
type strategy struct {
	// worker returns what an NN worker does.
	worker func(cfg *Config) denseSync
	// puts says when an embedding PS applies puts; nil: in step or at once, as the rule's InStep says. pushes
	// says when a dense PS applies pushes; nil: at once.
	puts, pushes func(cfg *Config) closing
	// coordinator returns the coordinator of a run, where the mode has one.
	coordinator func(cfg *Config) Role
	// irreplaceable says that the coordinator cannot restart: no other role knows what it has decided.
	irreplaceable bool
}

// strategies is the table of strategies. Each is defined in its own file, strategy_NAME.go.
var strategies = map[pace.Strategy]strategy{
	pace.Reduced:        reducedStrategy,
	pace.Served:         servedStrategy,
	pace.Averaged:       averagedStrategy,
	pace.AveragedInStep: averagedInStepStrategy,
	pace.GlobalBatches:  globalBatchesStrategy,
	pace.FirstRanks:     firstRanksStrategy,
}

func (c *Config) strategy() strategy { return strategies[c.Rule.Dense().Strategy] }

func (c *Config) validateStrategy() error {
	name := c.Rule.Dense().Strategy
	if _, known := strategies[name]; !known {
		return fmt.Errorf("role: %s keeps dense parameters together by %q, which no file of package role defines", c.Rule.Name(), name)
	}
	return nil
}

// CanRestart is the function CanRestart for the roles of this run: it also excludes a coordinator whose
// decisions no other role knows.
func (c *Config) CanRestart(r msg.Role) bool {
	return CanRestart(r) && !(r == msg.Coordinator && c.strategy().irreplaceable)
}

// denseSync is how one NN worker keeps its dense parameters together with those of the other ranks. Its
// methods are called in the course of the worker's steps.
type denseSync interface {
	// received takes a message of a kind that the worker does not handle itself.
	receive(w *NNWorker, now unit.Tick, m msg.Message, out *Outputs)
	// bucketReduced notes that a fed bucket is summed.
	bucketReduced(in *Input)
	// worked takes work that the strategy has asked for.
	workDone(w *NNWorker, now unit.Tick, in *Input, out *Outputs)
	// advance is called after each input, and starts what can start.
	advance(w *NNWorker, now unit.Tick, out *Outputs)
	// ready reports whether FC of b may start as far as the parameters are concerned, and asks for them if
	// need be.
	ready(w *NNWorker, b *trainingBatch, out *Outputs) bool
	// reads returns what FC of a step reads beside samples and embeddings. It is released when BC has ended.
	forwardReads(w *NNWorker, step int32) []Handle
	// resend repeats the requests that are not answered.
	resend(w *NNWorker, out *Outputs)
	// finished reports whether nothing is under way after the last step.
	finished(w *NNWorker) bool
	clone() denseSync
	appendState(dst []byte) []byte
}

// alone is the part of a denseSync without messages: its ranks exchange all-reduces only.
type noMessages struct{}

func (noMessages) receive(*NNWorker, unit.Tick, msg.Message, *Outputs) {}
func (noMessages) ready(*NNWorker, *trainingBatch, *Outputs) bool      { return true }
func (noMessages) forwardReads(*NNWorker, int32) []Handle              { return nil }
func (noMessages) resend(*NNWorker, *Outputs)                          {}

package role

import (
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// strategy implements a pace.Strategy in the roles: how NN workers keep their dense parameters together, and,
// in some modes, when PSs apply gradients and which coordinator the run has.
type strategy struct {
	// worker returns the part of an NN worker.
	worker func(cfg *Config) denseSync
	// puts returns the order of an embedding PS; nil: inStep or atOnce, depending on Rule.InStep. pushes
	// returns the order of a dense PS; nil: atOnce.
	puts, pushes func(cfg *Config) accessOrder
	// coordinator returns the coordinator of a run, in modes that have one.
	coordinator func(cfg *Config) Role
	// irreplaceable reports whether the coordinator cannot restart because no other role knows its decisions.
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
		return fmt.Errorf("role: mode %s has the unknown strategy %q; add it to the table in strategy.go",
			c.Rule.Name(), name)
	}
	return nil
}

// CanRestart is like the function CanRestart, but returns false for a coordinator whose decisions no other
// role knows, and true for an NN worker if another rank has its parameters.
func (c *Config) CanRestart(r msg.Role) bool {
	if r == msg.NNWorker {
		return c.RankRecovery && c.RanksAreEqual()
	}
	return CanRestart(r) && !(r == msg.Coordinator && c.strategy().irreplaceable)
}

// RanksAreEqual reports whether a rank's parameters are those of another rank: ranks reduce gradients in
// every step, and there are several.
func (c *Config) RanksAreEqual() bool {
	return c.Rule.Dense().Strategy == pace.Reduced && c.Ranks > 1
}

// denseSync is the part of one NN worker that keeps its dense parameters together with those of the other
// ranks. The worker calls the methods while it handles an input.
type denseSync interface {
	// receive handles a message of a kind that the worker does not handle itself.
	receive(w *NNWorker, now unit.Tick, m msg.Message, out *Outputs)
	// bucketReduced handles the sum of a bucket.
	bucketReduced(w *NNWorker, in Input)
	// workDone handles the end of work that the strategy has started.
	workDone(w *NNWorker, now unit.Tick, done Work, out *Outputs)
	// advance starts all work that can start. The worker calls it after each input.
	advance(w *NNWorker, now unit.Tick, out *Outputs)
	// ready reports whether the parameters for FC of b are here, and requests them if necessary.
	ready(w *NNWorker, b *trainingBatch, out *Outputs) bool
	// forwardReads returns the handles that FC of a step reads apart from samples and embeddings. The worker
	// releases them when BC has ended.
	forwardReads(w *NNWorker, step int32) []Handle
	// resend repeats all unanswered requests.
	resend(w *NNWorker, out *Outputs)
	// finished reports whether all work and requests after the last step have ended.
	finished(w *NNWorker) bool
	clone() denseSync
	appendState(dst []byte) []byte
}

// noMessages has the methods of a denseSync that sends no messages.
type noMessages struct{}

func (noMessages) receive(*NNWorker, unit.Tick, msg.Message, *Outputs) {}
func (noMessages) ready(*NNWorker, *trainingBatch, *Outputs) bool      { return true }
func (noMessages) forwardReads(*NNWorker, int32) []Handle              { return nil }
func (noMessages) resend(*NNWorker, *Outputs)                          {}

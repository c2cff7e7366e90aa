// Package event defines the facts that roles record about a run. Both drivers
// hand the same records to the same observers, so a figure about staleness or
// stage times is computed by one piece of code in both worlds.
package event

import (
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Kind says what happened.
type Kind uint8

// The kinds of event, along the way of one batch; where DS overlaps BC, SyncStarted
// may come before BackwardDone. Rank and Step name the batch unless the comment says
// otherwise. Recordings hold the number of a kind: a change of the numbers raises
// the version of their format (package replay).
const (
	BatchRead         Kind = iota // the data loader has read the global batch of Step (no rank)
	BatchDispatched               // the data loader has sent a rank its part
	BatchRouted                   // the EW knows the rows that each PS owns; Rows has their number by PS
	LookupIssued                  // the NN worker asked for the embeddings: the batch is outstanding from now on
	LookupServed                  // a PS reads the rows, having seen what it had recorded as applied before
	Pooled                        // the EW has pooled the embeddings
	EmbeddingsArrived             // the NN worker has received the embeddings: the end of stage GE
	ForwardStarted                // the NN worker starts stage FC
	BackwardStarted               // … stage BC
	BackwardDone                  // the NN worker has all gradients of the batch: the end of stage BC
	SyncStarted                   // … stage DS: the first bucket is fed, or the gradients are pushed
	SyncDone                      // every bucket of the step is reduced, or every push acknowledged
	GradientsSent                 // the NN worker hands the embedding gradients to the EW: stage PEG
	DenseApplied                  // the dense optimizer has stepped, wherever it runs
	PutApplied                    // a PS applies the row gradients
	StepClosed                    // a PS in sync mode has all puts of Step (no rank) and applies them
	PutRepeated                   // a PS was sent row gradients that it had applied before
	BatchDone                     // the NN worker knows that every PS has applied: no longer outstanding
	PullServed                    // a dense PS reads its shard, having seen what it had recorded as pushed before
	PushApplied                   // a dense PS applies the gradients of its shard
	PushRepeated                  // a dense PS was sent gradients that it had applied before
	ClockAdvanced                 // the coordinator: every rank's clock has reached Step (no rank)
	SnapshotTaken                 // the NN worker copies its replica for averaging round Step
	Averaged                      // the NN worker has folded the mean of round Step into its replica
	PutDropped                    // a PS lets the row gradients go unapplied
	PushDropped                   // a dense PS lets the gradients of its shard go unapplied
	BatchDropped                  // the coordinator: no gradient of the batch counts
	kinds
)

var kindNames = [kinds]string{
	"batch-read", "batch-dispatched", "batch-routed", "lookup-issued", "lookup-served", "pooled",
	"embeddings-arrived", "forward-started", "backward-started", "backward-done", "sync-started", "sync-done",
	"gradients-sent", "dense-applied", "put-applied", "step-closed", "put-repeated", "batch-done", "pull-served",
	"push-applied", "push-repeated", "clock-advanced", "snapshot-taken", "averaged",
	"put-dropped", "push-dropped", "batch-dropped",
}

// String returns the name under which records and scenarios print the kind.
func (k Kind) String() string { return kindNames[k] }

// Known reports whether k is one of the kinds; what came over a wire may not be.
func (k Kind) Known() bool { return k < kinds }

// NoRank stands in Record.Rank where an event is about a whole step.
const NoRank int32 = -1

// Record is one event of one role. The order of a role's records is the order
// in which it took its decisions.
type Record struct {
	At   unit.Tick
	Role msg.Address
	Kind Kind
	Rank int32
	Step int32
	Rows []int32 // BatchRouted only: rows by PS; read-only
}

// String returns the record without its time, which is what two worlds can
// be compared by.
func (r Record) String() string {
	if r.Rank == NoRank {
		return fmt.Sprintf("%v: %v step %d", r.Role, r.Kind, r.Step)
	}
	return fmt.Sprintf("%v: %v rank %d step %d", r.Role, r.Kind, r.Rank, r.Step)
}

// Observer is told of every record. Drivers call it under their own lock, in
// an order that respects each role's own order and causality between roles.
type Observer interface {
	Observe(Record)
}

package event

import (
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds of event, in the order in which they happen to a batch. Where DS overlaps BC, SyncStarted may
// come before BackwardDone. Rank and Step identify the batch unless the comment says otherwise. Recordings
// store the number of a kind: a change of the numbers requires a new version of the recording format (package
// replay).
const (
	BatchRead         Kind = iota // the data loader has read the global batch of Step (no rank)
	BatchDispatched               // the data loader has sent a rank its part
	BatchRouted                   // the EW has routed the ids to the PSs; Rows is the number of rows by PS
	LookupIssued                  // the NN worker has requested the embeddings: the batch is outstanding
	LookupServed                  // a PS reads the rows, after all puts that it recorded as applied before
	Pooled                        // the EW has pooled the embeddings
	EmbeddingsArrived             // the NN worker has received the embeddings; end of stage GE
	ForwardStarted                // the NN worker starts stage FC
	BackwardStarted               // the NN worker starts stage BC
	BackwardDone                  // the NN worker has computed all gradients of the batch; end of stage BC
	SyncStarted                   // the NN worker starts stage DS: it feeds a bucket, or pushes gradients
	SyncDone                      // every bucket is reduced, or every push acknowledged; end of stage DS
	GradientsSent                 // the NN worker sends the embedding gradients to the EW; start of stage PEG
	DenseApplied                  // the dense optimizer has made its step, on the rank or on the dense PSs
	PutApplied                    // a PS applies the row gradients
	StepClosed                    // a PS has all puts of Step (no rank) and applies them together
	PutRepeated                   // a PS has received row gradients that it had applied before
	BatchDone                     // every PS has applied the batch: it is not outstanding; end of stage PEG
	PullServed                    // a dense PS reads its shard, after all pushes recorded as applied before
	PushApplied                   // a dense PS applies the gradients of its shard
	PushRepeated                  // a dense PS has received gradients that it had applied before
	ClockAdvanced                 // the coordinator knows that every rank's clock has reached Step (no rank)
	SnapshotTaken                 // the NN worker copies its replica for averaging round Step
	Averaged                      // the NN worker has added the mean of round Step to its replica
	PutDropped                    // a PS discards the row gradients
	PushDropped                   // a dense PS discards the gradients of its shard
	BatchDropped                  // the coordinator has decided that no gradient of the batch counts
	EndDecided                    // the data loader has decided that the run ends before Step (no rank)
	RankReturned                  // the NN worker is back after a crash, with the parameters before Step
	kinds
)

var kindNames = [kinds]string{
	"batch-read", "batch-dispatched", "batch-routed", "lookup-issued", "lookup-served", "pooled",
	"embeddings-arrived", "forward-started", "backward-started", "backward-done", "sync-started", "sync-done",
	"gradients-sent", "dense-applied", "put-applied", "step-closed", "put-repeated", "batch-done",
	"pull-served",
	"push-applied", "push-repeated", "clock-advanced", "snapshot-taken", "averaged",
	"put-dropped", "push-dropped", "batch-dropped", "end-decided", "rank-returned",
}

// String returns the name under which records and scenarios print the kind.
func (k Kind) String() string { return kindNames[k] }

// Known reports whether k is a kind of this build. A value from the network may not be.
func (k Kind) Known() bool { return k < kinds }

// NoRank is the value of Record.Rank in an event about a whole step.
const NoRank int32 = -1

// Record is one event of one role.
type Record struct {
	At   unit.Tick // since the start of the run, on the clock of the role's process
	Role msg.Address
	Kind Kind
	Rank int32
	Step int32
	Rows []int32 // number of rows by PS, in a BatchRouted record; read-only
}

// String returns the record without its time, for comparing runs of different drivers.
func (r Record) String() string {
	if r.Rank == NoRank {
		return fmt.Sprintf("%v: %v step %d", r.Role, r.Kind, r.Step)
	}
	return fmt.Sprintf("%v: %v rank %d step %d", r.Role, r.Kind, r.Rank, r.Step)
}

// Observer receives every record of a run, as the package comment describes.
type Observer interface {
	Observe(Record)
}

// Package msg defines what roles say to each other.
//
// A Message is a small value. Bulk data never travels inside it: the kind,
// rank and step of a message name the one payload that belongs to it, and the
// driver carries that payload along (by pointer in one process, encoded
// between processes, as priced bytes in the simulator).
package msg

import (
	"cmp"
	"fmt"

	"tandem/algo/unit"
)

// Role is one of the parts that a training cluster is made of.
type Role uint8

// The roles, in Persia's words.
const (
	DataLoader      Role = iota // reads samples and deals them out
	EmbeddingWorker             // turns ids into pooled embeddings, and their gradients into row gradients
	EmbeddingPS                 // holds a shard of the embedding rows
	NNWorker                    // a rank: trains a replica of the dense network
	DensePS                     // holds a shard of the dense network's parameters, where a mode keeps them on servers
	Coordinator                 // knows the slowest rank's clock, where a mode bounds how far others may lead
	roles
)

var roleNames = [roles]string{"data-loader", "embedding-worker", "embedding-ps", "nn-worker", "dense-ps", "coordinator"}

// String returns the name of the role in job files, on command lines and in messages, such as
// "embedding-worker".
func (r Role) String() string { return roleNames[r] }

// Known reports whether r is one of the roles; what came over a wire may not be.
func (r Role) Known() bool { return r < roles }

// Address names one instance of a role.
type Address struct {
	Role  Role
	Index int32
}

// String returns a form such as "nn-worker 3".
func (a Address) String() string { return fmt.Sprintf("%v %d", a.Role, a.Index) }

// Less orders addresses by role, then index.
func (a Address) Less(b Address) bool { return a.Compare(b) < 0 }

// Compare returns −1, 0 or 1 as a is before, is, or is behind b in the order of Less.
func (a Address) Compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Index, b.Index))
}

// Kind says what a message asks or answers.
type Kind uint8

// The kinds of message, along the way of one batch. Those marked * carry a
// payload.
const (
	IDFeatures       Kind = iota // * data loader → EW: the id features of a rank's batch
	Samples                      // * data loader → NN worker: its numeric features and labels
	SamplesAck                   // NN worker → data loader: Samples arrived
	StepDone                     // NN worker → data loader: the batch is finished, forget it
	GetEmbeddings                // NN worker → EW: look the batch up (stage GE)
	Lookup                       // * EW → PS: the distinct signs that the PS owns
	Rows                         // * PS → EW: their embeddings
	Embeddings                   // * EW → NN worker: pooled embeddings
	PutGradients                 // * NN worker → EW: gradients of the pooled embeddings (stage PEG)
	Put                          // * EW → PS: row gradients
	PutAck                       // PS → EW: applied, now or earlier
	PutDone                      // EW → NN worker: every PS acknowledged
	ResendIDs                    // EW → data loader: the id features were lost, send them again
	Pull                         // NN worker → dense PS: the parameters to train Step with
	Params                       // * dense PS → NN worker: the shard's parameters
	Push                         // * NN worker → dense PS: the gradients of Step
	PushAck                      // dense PS → NN worker: applied, now or earlier
	ReportClock                  // NN worker → coordinator: the steps below Step are pushed and acknowledged, or computed
	SlowestClock                 // coordinator → NN worker: … by every rank
	AskProgress                  // data loader → NN worker: the loader has restarted; which steps are finished?
	Progress                     // NN worker → data loader: all steps below Floor
	GradientsCount               // coordinator → NN worker: those of Step do; StepSamples are the samples of all that do
	GradientsDropped             // coordinator → NN worker: those of Step do not count
	DropBatch                    // NN worker → EW: forget the batch, its gradients do not count; PutDone answers
	kinds
)

var kindNames = [kinds]string{
	"IDFeatures", "Samples", "SamplesAck", "StepDone", "GetEmbeddings", "Lookup", "Rows",
	"Embeddings", "PutGradients", "Put", "PutAck", "PutDone", "ResendIDs",
	"Pull", "Params", "Push", "PushAck", "ReportClock", "SlowestClock", "AskProgress", "Progress",
	"GradientsCount", "GradientsDropped", "DropBatch",
}

// String returns the name of the constant.
func (k Kind) String() string { return kindNames[k] }

// Kinds is the number of kinds.
const Kinds = int(kinds)

// Known reports whether k is one of the kinds; what came over a wire may not be.
func (k Kind) Known() bool { return k < kinds }

// HasPayload reports whether bulk data travels with messages of this kind.
func (k Kind) HasPayload() bool {
	switch k {
	case IDFeatures, Samples, Lookup, Rows, Embeddings, PutGradients, Put, Params, Push:
		return true
	}
	return false
}

// HeaderBytes is what a message costs on a wire beside its payload: the fields of Message, rounded up, and the
// identity of the sending process (runtime/wire).
const HeaderBytes unit.Bytes = 72

// Message is one message. Rank and Step name the batch that it is about.
type Message struct {
	Kind     Kind
	From, To Address
	Rank     int32
	Step     int32
	// Floor is the lowest step of Rank that is not yet acknowledged by every
	// PS, of the receiver's kind: whatever is said about earlier steps is an
	// echo. It lets receivers forget.
	Floor int32
	// Samples is the true sample count of the rank's part of the step, and
	// StepSamples that of the whole step: the two divisors of a mean.
	Samples     int32
	StepSamples int32
	// Bytes is the size on a wire, header included.
	Bytes unit.Bytes
}

// String returns a one-line form for scenarios and failure reports.
func (m Message) String() string {
	return fmt.Sprintf("%v rank %d step %d, %v → %v", m.Kind, m.Rank, m.Step, m.From, m.To)
}

package msg

import (
	"cmp"
	"fmt"

	"tandem/algo/unit"
)

// Role is a kind of participant in a training cluster.
type Role uint8

// The roles, with Persia's names where Persia has them.
const (
	DataLoader      Role = iota // reads global batches and sends each rank its part
	EmbeddingWorker             // pools embeddings, and merges their gradients into row gradients
	EmbeddingPS                 // holds a shard of the embedding tables
	NNWorker                    // a rank: trains a replica of the dense network
	DensePS                     // holds a shard of the dense network's parameters; not in every mode
	Coordinator                 // knows the progress of all ranks; not in every mode
	roles
)

var roleNames = [roles]string{
	"data-loader", "embedding-worker", "embedding-ps", "nn-worker", "dense-ps", "coordinator",
}

// String returns the name of the role in job files, command lines and logs, such as "embedding-worker".
func (r Role) String() string { return roleNames[r] }

// Known reports whether r is a role of this build. A value from the network may not be.
func (r Role) Known() bool { return r < roles }

// Address identifies one instance of a role.
type Address struct {
	Role  Role
	Index int32
}

// String returns the role and the index, such as "nn-worker 3".
func (a Address) String() string { return fmt.Sprintf("%v %d", a.Role, a.Index) }

// Less orders addresses by role, then index.
func (a Address) Less(b Address) bool { return a.Compare(b) < 0 }

// Compare returns −1 if a is before b in the order of Less, 0 if they are equal, and 1 otherwise.
func (a Address) Compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Index, b.Index))
}

// Kind is the kind of a message: a request, an answer or an acknowledgement.
type Kind uint8

// The kinds of message, in the order in which a batch needs them. Kinds marked * carry a payload.
const (
	IDFeatures       Kind = iota // * data loader → EW: the id features of a rank's batch
	Samples                      // * data loader → NN worker: the numeric features and labels of the batch
	SamplesAck                   // NN worker → data loader: Samples has arrived
	StepDone                     // NN worker → data loader: the batch is finished
	GetEmbeddings                // NN worker → EW: request for pooled embeddings (stage GE)
	Lookup                       // * EW → embedding PS: the distinct signs of the batch that the PS owns
	Rows                         // * embedding PS → EW: the embeddings of those signs
	Embeddings                   // * EW → NN worker: the pooled embeddings
	PutGradients                 // * NN worker → EW: the gradients of the pooled embeddings (stage PEG)
	Put                          // * EW → embedding PS: the row gradients
	PutAck                       // embedding PS → EW: the row gradients are applied, now or earlier
	PutDone                      // EW → NN worker: every embedding PS has acknowledged
	ResendIDs                    // EW → data loader: request to send lost id features again
	Pull                         // NN worker → dense PS: request for the parameters of Step
	Params                       // * dense PS → NN worker: the shard's parameters
	Push                         // * NN worker → dense PS: the gradients of Step
	PushAck                      // dense PS → NN worker: the gradients are applied, now or earlier
	ReportClock                  // NN worker → coordinator: the rank has finished all steps below Step
	SlowestClock                 // coordinator → NN worker: every rank has finished all steps below Step
	AskProgress                  // data loader → NN worker: request for Progress after a restart
	Progress                     // NN worker → data loader: the rank has finished all steps below Floor
	GradientsCount               // coordinator → NN worker: the gradients of Step count
	GradientsDropped             // coordinator → NN worker: the gradients of Step do not count
	DropBatch                    // NN worker → EW: request to forget a batch; PutDone answers it
	AskEnd                       // data loader → NN worker: request for OfferEnd, of Step or later
	OfferEnd                     // NN worker → data loader: the rank begins no step ≥ Step before SetEnd
	SetEnd                       // data loader → NN worker or PS: the run ends before Step
	EndSet                       // NN worker or PS → data loader: SetEnd has arrived
	GradientsKept                // EW → NN worker: the EW has the gradients of the pooled embeddings
	AskSamples                   // NN worker → data loader: a rank that is back needs Step and all later ones
	SamplesAsked                 // data loader → NN worker: what the rank has finished; Step is the end
	AskKept                      // NN worker → EW: a rank that is back asks for GradientsKept or PutDone
	GradientsLost                // EW → NN worker: no to AskKept
	EmbeddingsLost               // EW → NN worker: no to GetEmbeddings: they are lost
	kinds
)

var kindNames = [kinds]string{
	"IDFeatures", "Samples", "SamplesAck", "StepDone", "GetEmbeddings", "Lookup", "Rows",
	"Embeddings", "PutGradients", "Put", "PutAck", "PutDone", "ResendIDs",
	"Pull", "Params", "Push", "PushAck", "ReportClock", "SlowestClock", "AskProgress", "Progress",
	"GradientsCount", "GradientsDropped", "DropBatch", "AskEnd", "OfferEnd", "SetEnd", "EndSet",
	"GradientsKept", "AskSamples", "SamplesAsked", "AskKept", "GradientsLost", "EmbeddingsLost",
}

// String returns the name of the constant.
func (k Kind) String() string { return kindNames[k] }

// Kinds is the number of kinds.
const Kinds = int(kinds)

// Known reports whether k is a kind of this build. A value from the network may not be.
func (k Kind) Known() bool { return k < kinds }

// HasPayload reports whether messages of this kind carry bulk data.
func (k Kind) HasPayload() bool {
	switch k {
	case IDFeatures, Samples, Lookup, Rows, Embeddings, PutGradients, Put, Params, Push:
		return true
	}
	return false
}

// HeaderBytes is the size of a message without its payload: the fields of Message, rounded up, and the
// identity of the sending process (runtime/wire).
const HeaderBytes unit.Bytes = 72

// Message is one message. Rank and Step identify the batch that the message is about.
type Message struct {
	Kind     Kind
	From, To Address
	Rank     int32
	Step     int32
	// Floor is the first step of Rank that some PS of the receiver's kind has not acknowledged. All earlier
	// steps are finished: the receiver may forget them, and a message about one of them is a late duplicate.
	Floor int32
	// Samples is the number of samples in the rank's part of the step, and StepSamples the number
	// in the whole step. A mean over samples divides by one of them. In a GradientsCount message
	// StepSamples is the number of samples of all gradients that count.
	Samples     int32
	StepSamples int32
	// Bytes is the size on the network, including HeaderBytes.
	Bytes unit.Bytes
}

// String returns the message without its sizes on one line, for scenarios and error messages.
func (m Message) String() string {
	return fmt.Sprintf("%v rank %d step %d, %v → %v", m.Kind, m.Rank, m.Step, m.From, m.To)
}

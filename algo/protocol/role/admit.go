package role

import (
	"fmt"
	"math"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// edges are the sender and the receiver of each kind of message.
var edges = [msg.Kinds]struct{ from, to msg.Role }{
	msg.IDFeatures:       {msg.DataLoader, msg.EmbeddingWorker},
	msg.Samples:          {msg.DataLoader, msg.NNWorker},
	msg.SamplesAck:       {msg.NNWorker, msg.DataLoader},
	msg.StepDone:         {msg.NNWorker, msg.DataLoader},
	msg.GetEmbeddings:    {msg.NNWorker, msg.EmbeddingWorker},
	msg.Lookup:           {msg.EmbeddingWorker, msg.EmbeddingPS},
	msg.Rows:             {msg.EmbeddingPS, msg.EmbeddingWorker},
	msg.Embeddings:       {msg.EmbeddingWorker, msg.NNWorker},
	msg.PutGradients:     {msg.NNWorker, msg.EmbeddingWorker},
	msg.Put:              {msg.EmbeddingWorker, msg.EmbeddingPS},
	msg.PutAck:           {msg.EmbeddingPS, msg.EmbeddingWorker},
	msg.PutDone:          {msg.EmbeddingWorker, msg.NNWorker},
	msg.ResendIDs:        {msg.EmbeddingWorker, msg.DataLoader},
	msg.Pull:             {msg.NNWorker, msg.DensePS},
	msg.Params:           {msg.DensePS, msg.NNWorker},
	msg.Push:             {msg.NNWorker, msg.DensePS},
	msg.PushAck:          {msg.DensePS, msg.NNWorker},
	msg.ReportClock:      {msg.NNWorker, msg.Coordinator},
	msg.SlowestClock:     {msg.Coordinator, msg.NNWorker},
	msg.AskProgress:      {msg.DataLoader, msg.NNWorker},
	msg.Progress:         {msg.NNWorker, msg.DataLoader},
	msg.GradientsCount:   {msg.Coordinator, msg.NNWorker},
	msg.GradientsDropped: {msg.Coordinator, msg.NNWorker},
	msg.DropBatch:        {msg.NNWorker, msg.EmbeddingWorker},
}

// RefusedError is the error for a message that is not admitted.
type RefusedError struct {
	Message msg.Message
	Field   string // "kind", "from", "to", "rank", "step", "floor", "samples" or "bytes"
	Reason  string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v message from %v to %v: %s: %s", e.Message.Kind, e.Message.From, e.Message.To,
		e.Field, e.Reason)
}

// Admit checks a message from another process before its receiver handles it. It checks that messages of this
// kind travel from m.From to m.To, that the run has both roles, and that rank, step, floor, samples and bytes
// are in range. A role handles every admitted message without panicking. Admit cannot check whether the
// content of a message is true. It returns a *RefusedError, which names the field, or another error if the
// kind or a role is not one of this build. Cost: constant.
func Admit(cfg *Config, m msg.Message) error {
	if !m.Kind.Known() || !m.From.Role.Known() || !m.To.Role.Known() {
		return fmt.Errorf("role: message of kind %d from role %d to role %d; this build does not have all "+
			"of them", m.Kind, m.From.Role, m.To.Role)
	}
	refuse := func(field, format string, args ...any) error {
		return &RefusedError{m, field, fmt.Sprintf(format, args...)}
	}
	roster := cfg.Roster()
	edge := edges[m.Kind]
	steps := cfg.Steps - 1
	if m.Kind == msg.ReportClock || m.Kind == msg.SlowestClock || m.Kind == msg.Progress {
		steps = cfg.Steps // Step is a number of steps
	}
	floors := int32(0)
	if m.From.Role == msg.NNWorker || m.From.Role == msg.EmbeddingWorker {
		floors = cfg.Steps
	}
	switch m.Kind {
	case msg.GetEmbeddings, msg.PutGradients, msg.DropBatch, msg.Lookup, msg.Put, msg.Pull, msg.Push:
		floors = m.Step // the step of the message is not finished
	}
	switch {
	case m.From.Role != edge.from || m.To.Role != edge.to:
		return refuse("kind", "such messages go from %s to %s", edge.from, edge.to)
	case !roster.has(m.From):
		return refuse("from", "the run has no such role")
	case !roster.has(m.To):
		return refuse("to", "the run has no such role")
	case m.Rank < 0 || m.Rank >= cfg.Ranks:
		return refuse("rank", "%d, want 0 to %d", m.Rank, cfg.Ranks-1)
	case m.From.Role == msg.NNWorker && m.From.Index != m.Rank:
		return refuse("from", "the message is about rank %d", m.Rank)
	case m.To.Role == msg.NNWorker && m.To.Index != m.Rank:
		return refuse("to", "the message is about rank %d", m.Rank)
	case m.Step < 0 || m.Step > steps:
		return refuse("step", "%d, want 0 to %d", m.Step, steps)
	case m.From.Role == msg.EmbeddingWorker && m.From != cfg.workerOf(m.Rank, m.Step):
		return refuse("from", "batch of rank %d and step %d belongs to %v", m.Rank, m.Step,
			cfg.workerOf(m.Rank, m.Step))
	case m.To.Role == msg.EmbeddingWorker && m.To != cfg.workerOf(m.Rank, m.Step):
		return refuse("to", "batch of rank %d and step %d belongs to %v", m.Rank, m.Step,
			cfg.workerOf(m.Rank, m.Step))
	case m.Floor < 0 || m.Floor > floors:
		return refuse("floor", "%d, want 0 to %d", m.Floor, floors)
	case m.Samples < 0 || m.Samples > m.StepSamples:
		return refuse("samples", "%d, want 0 to %d, the samples of the step", m.Samples, m.StepSamples)
	}
	if least, most := cfg.sizes(m); m.Bytes < least || m.Bytes > most {
		return refuse("bytes", "%d, want %d to %d", m.Bytes, least, most)
	}
	return nil
}

// sizes returns the smallest and the largest size of a message.
func (c *Config) sizes(m msg.Message) (least, most unit.Bytes) {
	least, most = msg.HeaderBytes, msg.HeaderBytes
	switch {
	case m.Kind == msg.Params:
		least += c.DensePSs[m.From.Index]
		most = least
	case m.Kind == msg.Push:
		least += c.pushBytes(m.To.Index)
		most = least
	case m.Kind.HasPayload():
		most = unit.Bytes(math.MaxInt32) // the decoder checks the payload
	}
	return least, most
}

// CheckCredit checks at the receiver r that the sender of an admitted message m has credit for it. It returns
// a *RefusedError if m would open another batch and r already holds as many unfinished batches of the rank of
// m as an honest sender can have opened. This bounds the memory that a peer can make a role hold.
func CheckCredit(cfg *Config, r Role, m msg.Message) error {
	holder, ok := r.(interface {
		holding(m msg.Message) (held int, known bool)
	})
	if !ok {
		return nil
	}
	// At most Prefetch batches of a rank are outstanding. After a crash, late duplicates may open finished
	// batches, until the next request raises the floor. Random walks with faults reach twice Prefetch. The
	// rest allows for duplicates that are delayed for many steps.
	limit := 4*int(cfg.Prefetch) + 16
	if held, known := holder.holding(m); !known && held >= limit {
		return &RefusedError{m, "step", fmt.Sprintf("the receiver has %d unfinished batches of rank %d, "+
			"want at most %d", held, m.Rank, limit)}
	}
	return nil
}

// holding returns the number of batches of the rank of m for which the role holds data, and whether the batch
// of m is one of them or needs no memory.
func (p *EmbeddingPS) holding(m msg.Message) (held int, known bool) {
	switch m.Kind {
	case msg.Lookup:
		return countRank(p.lookups, m.Rank, false), find(p.lookups, m.Rank, m.Step) >= 0
	case msg.Put:
		return countRank(p.puts, m.Rank, p.order.buffers()), find(p.puts, m.Rank, m.Step) >= 0
	}
	return 0, true
}

func (d *DensePS) holding(m msg.Message) (held int, known bool) {
	switch m.Kind {
	case msg.Pull:
		return countRank(d.pulls, m.Rank, false), find(d.pulls, m.Rank, m.Step) >= 0
	case msg.Push:
		return countRank(d.pushes, m.Rank, d.order.buffers()), find(d.pushes, m.Rank, m.Step) >= 0
	}
	return 0, true
}

func (e *EmbeddingWorker) holding(m msg.Message) (held int, known bool) {
	switch m.Kind {
	case msg.IDFeatures, msg.GetEmbeddings, msg.PutGradients, msg.DropBatch:
		return len(e.batchesOf(m.Rank)), e.find(m.Rank, m.Step) != nil
	}
	return 0, true
}

func (w *NNWorker) holding(m msg.Message) (held int, known bool) {
	if m.Kind == msg.Samples {
		return len(w.batches), w.find(m.Step) != nil
	}
	return 0, true
}

// countRank returns the number of unanswered requests of a rank. If requests are answered on arrival, it
// returns the number of requests that are being applied, because the order bounds the number of those that
// wait.
func countRank(rs []request, rank int32, answered bool) (n int) {
	for _, r := range rs {
		if r.rank == rank && (!answered || r.working()) {
			n++
		}
	}
	return n
}

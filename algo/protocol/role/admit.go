package role

import (
	"fmt"
	"math"
	"strings"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// edges are the senders and the receivers of each kind of message.
var edges = [msg.Kinds]struct{ from, to roleSet }{
	msg.IDFeatures:       {of(msg.DataLoader), of(msg.EmbeddingWorker)},
	msg.Samples:          {of(msg.DataLoader), of(msg.NNWorker)},
	msg.SamplesAck:       {of(msg.NNWorker), of(msg.DataLoader)},
	msg.StepDone:         {of(msg.NNWorker), of(msg.DataLoader)},
	msg.GetEmbeddings:    {of(msg.NNWorker), of(msg.EmbeddingWorker)},
	msg.Lookup:           {of(msg.EmbeddingWorker), of(msg.EmbeddingPS)},
	msg.Rows:             {of(msg.EmbeddingPS), of(msg.EmbeddingWorker)},
	msg.Embeddings:       {of(msg.EmbeddingWorker), of(msg.NNWorker)},
	msg.PutGradients:     {of(msg.NNWorker), of(msg.EmbeddingWorker)},
	msg.Put:              {of(msg.EmbeddingWorker), of(msg.EmbeddingPS)},
	msg.PutAck:           {of(msg.EmbeddingPS), of(msg.EmbeddingWorker)},
	msg.PutDone:          {of(msg.EmbeddingWorker), of(msg.NNWorker)},
	msg.ResendIDs:        {of(msg.EmbeddingWorker), of(msg.DataLoader)},
	msg.Pull:             {of(msg.NNWorker), of(msg.DensePS)},
	msg.Params:           {of(msg.DensePS), of(msg.NNWorker)},
	msg.Push:             {of(msg.NNWorker), of(msg.DensePS)},
	msg.PushAck:          {of(msg.DensePS), of(msg.NNWorker)},
	msg.ReportClock:      {of(msg.NNWorker), of(msg.Coordinator)},
	msg.SlowestClock:     {of(msg.Coordinator), of(msg.NNWorker)},
	msg.AskProgress:      {of(msg.DataLoader), of(msg.NNWorker)},
	msg.Progress:         {of(msg.NNWorker), of(msg.DataLoader)},
	msg.GradientsCount:   {of(msg.Coordinator), of(msg.NNWorker)},
	msg.GradientsDropped: {of(msg.Coordinator), of(msg.NNWorker)},
	msg.DropBatch:        {of(msg.NNWorker), of(msg.EmbeddingWorker)},
	msg.AskEnd:           {of(msg.DataLoader), of(msg.NNWorker)},
	msg.OfferEnd:         {of(msg.NNWorker), of(msg.DataLoader)},
	msg.SetEnd:           {of(msg.DataLoader), of(msg.NNWorker, msg.EmbeddingPS, msg.DensePS)},
	msg.EndSet:           {of(msg.NNWorker, msg.EmbeddingPS, msg.DensePS), of(msg.DataLoader)},
	msg.GradientsKept:    {of(msg.EmbeddingWorker), of(msg.NNWorker)},
	msg.AskSamples:       {of(msg.NNWorker), of(msg.DataLoader)},
	msg.SamplesAsked:     {of(msg.DataLoader), of(msg.NNWorker)},
	msg.AskKept:          {of(msg.NNWorker), of(msg.EmbeddingWorker)},
	msg.GradientsLost:    {of(msg.EmbeddingWorker), of(msg.NNWorker)},
	msg.EmbeddingsLost:   {of(msg.EmbeddingWorker), of(msg.NNWorker)},
}

// roleSet is a set of roles, with one bit for each.
type roleSet uint8

func of(roles ...msg.Role) (s roleSet) {
	for _, r := range roles {
		s |= 1 << r
	}
	return s
}

func (s roleSet) has(r msg.Role) bool { return s&(1<<r) != 0 }

// String returns the names of the roles.
func (s roleSet) String() string {
	var names []string
	for _, r := range msg.Roles() {
		if s.has(r) {
			names = append(names, r.String())
		}
	}
	return strings.Join(names, " or ")
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
// kind or a role is not one of this build. Cost: constant; with Config.ProcessOf, a pass over the EWs.
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
	switch m.Kind {
	case msg.ReportClock, msg.SlowestClock, msg.Progress, msg.AskEnd, msg.OfferEnd, msg.SetEnd, msg.EndSet,
		msg.AskSamples, msg.SamplesAsked:
		steps = cfg.Steps // Step is a number of steps
	}
	floors := int32(0)
	if m.From.Role == msg.NNWorker || m.From.Role == msg.EmbeddingWorker || m.Kind == msg.SamplesAsked {
		floors = cfg.Steps
	}
	switch m.Kind {
	case msg.GetEmbeddings, msg.PutGradients, msg.DropBatch, msg.AskKept, msg.Lookup, msg.Put, msg.Pull,
		msg.Push:
		floors = m.Step // the step of the message is not finished
	}
	switch {
	case !edge.from.has(m.From.Role) || !edge.to.has(m.To.Role):
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
	case m.From.Role == msg.EmbeddingWorker && m.From != cfg.WorkerOf(m.Rank, m.Step):
		return refuse("from", "batch of rank %d and step %d belongs to %v", m.Rank, m.Step,
			cfg.WorkerOf(m.Rank, m.Step))
	case m.To.Role == msg.EmbeddingWorker && m.To != cfg.WorkerOf(m.Rank, m.Step):
		return refuse("to", "batch of rank %d and step %d belongs to %v", m.Rank, m.Step,
			cfg.WorkerOf(m.Rank, m.Step))
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
		return countRank(p.lookups, m.Rank) + countRank(p.serving, m.Rank),
			has(p.lookups, m.Rank, m.Step) || has(p.serving, m.Rank, m.Step)
	case msg.Put:
		return p.puts.unanswered(m.Rank, p.order), p.puts.holds(m.Rank, m.Step)
	}
	return 0, true
}

func (d *DensePS) holding(m msg.Message) (held int, known bool) {
	switch m.Kind {
	case msg.Pull:
		return countRank(d.pulls, m.Rank), has(d.pulls, m.Rank, m.Step)
	case msg.Push:
		return d.pushes.unanswered(m.Rank, d.order), d.pushes.holds(m.Rank, m.Step)
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

// unanswered returns the number of unanswered gradients of a rank. If an order answers gradients on arrival,
// it returns the number of those that are being applied, because the order bounds the number of those that
// wait.
func (g *gradients) unanswered(rank int32, order accessOrder) int {
	n := countRank(g.applying.Items(), rank)
	if !order.buffers() {
		n += countRank(g.waiting, rank)
	}
	return n
}

// countRank returns the number of requests of a rank.
func countRank(rs []request, rank int32) (n int) {
	for _, r := range rs {
		if r.rank == rank {
			n++
		}
	}
	return n
}

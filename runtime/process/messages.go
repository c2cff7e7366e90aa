package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/allreduce"
	"tandem/runtime/checkpoint"
	"tandem/runtime/driver"
	"tandem/runtime/transport"
	"tandem/runtime/wire"
)

// admit returns why a message must not be delivered, or nil.
func (n *node) admit(m msg.Message, payload exec.Payload) error {
	if !n.isBuilt() {
		return nil // Deliver drops the message
	}
	if _, ok := payload.(wire.Chunk); !ok {
		if err := role.Admit(n.cfg, m); err != nil {
			return err
		}
		return n.executor.Admission().CheckPayload(m, payload)
	}
	if n.sums == nil {
		return fmt.Errorf("a chunk of gradients for %v, which takes part in no all-reduce", m.To)
	}
	return nil
}

// limit returns the largest size of a frame with a header.
func (n *node) limit(h wire.Header) unit.Bytes {
	switch {
	case !n.isBuilt():
		return unit.Bytes(h.Size) // Deliver drops the message
	case !h.Chunk():
		return n.executor.Admission().FrameMax(h.Message)
	case n.sums == nil:
		return msg.HeaderBytes
	}
	return n.sums.FrameMax()
}

// isBuilt waits until the roles can handle messages. It returns false if the run fails first.
func (n *node) isBuilt() bool {
	select {
	case <-n.built:
		return true
	case <-n.member.Context().Done():
		return false
	}
}

// Deliver implements transport.Handler.
func (n *node) Deliver(m msg.Message, payload exec.Payload, free func()) {
	if !n.isBuilt() {
		return
	}
	if chunk, ok := payload.(wire.Chunk); ok {
		select {
		case <-n.connected: // an answer to a chunk must reach every member
		case <-n.member.Context().Done():
			return
		}
		err := n.sums.Deliver(m, chunk)
		if err == nil && chunk.Sum && !chunk.Own && free != nil {
			free() // a sum was copied; other chunks are kept
		}
		if err = n.dropRefused(err); err != nil {
			n.member.Fail(n.named(err))
		}
		return
	}
	if err := n.local.Deliver(m, payload, free); err != nil {
		n.member.Fail(err)
	}
}

// dropRefused drops the sender of a chunk that was refused with err, and returns nil. It returns any other
// error.
func (n *node) dropRefused(err error) error {
	refused := new(allreduce.Refused)
	if !errors.As(err, &refused) {
		return err
	}
	n.endpoint.Drop(refused.From, refused.Refusal)
	return nil
}

// Lost implements transport.Handler.
func (n *node) Lost(peer string, err error) {
	if at, known := n.peers.named(peer); known {
		n.reportLost(at, n.peers.incarnation(at), err)
	}
}

// Dropped implements transport.Handler.
func (n *node) Dropped(_ string, roles []msg.Address, reason error) {
	n.reportLost(roles[0], n.peers.incarnation(roles[0]), reason)
}

// Send implements driver.Remote. It ignores that the process of a receiver is gone: the endpoint has reported
// this to the host, which ends the run if it must.
func (n *node) Send(_ context.Context, letters []exec.Letter) error {
	err := n.endpoint.SendAll(letters)
	if errors.Is(err, transport.ErrGone) {
		return nil
	}
	return err
}

// Handled implements driver.Remote.
func (n *node) Handled(m msg.Message, refused error) {
	n.endpoint.Handled(m)
	if refused != nil {
		n.endpoint.Drop(m.From, refused)
	}
}

// inboxLimit bounds the unhandled messages of one remote role: for every rank, several times the messages of
// the batches that a role may hold (see role.CheckCredit).
func inboxLimit(t *job.Job) transport.Credit {
	return transport.Credit{Messages: 32 * t.Roles.Ranks * (t.Window() + 4), Bytes: 16 << 20}
}

// Reduce implements driver.Remote.
func (n *node) Reduce(ctx context.Context, step int32, b dense.Buckets) error {
	defer context.AfterFunc(ctx, func() { n.endSums(context.Cause(ctx)) })()
	n.sums.Begin(step)
	err := n.executor.ReduceAcross(step, b, n.sums)
	if err != nil && n.dropRefused(err) == nil {
		if n.cfg.RankRecovery { // the run may go on, and this process has not fed
			return &driver.LostError{Reason: err.Error()}
		}
		<-ctx.Done() // the host ends the run
		return context.Cause(ctx)
	}
	return err
}

// Finished implements driver.Remote. A process without ranks waits here during all of training, so its own
// failure must end the wait.
func (n *node) Finished(ctx context.Context) error {
	finished := make(chan error, 1)
	go func() { finished <- n.member.Finished() }()
	select {
	case err := <-finished:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// progressInterval is how often nn-worker 0 reports progress to the host.
const progressInterval = 100 * time.Millisecond

// Observe implements event.Observer. It logs the records for the host, to which nn-worker 0 also reports its
// progress.
func (n *node) Observe(e event.Record) {
	n.events.add(e)
	if e.Kind != event.DenseApplied || e.Role != (msg.Address{Role: msg.NNWorker}) {
		return
	}
	if done := int(e.Step) + 1; done == n.steps || time.Since(n.reported) >= progressInterval {
		n.reported = time.Now()
		// An error means that the host is gone, which member.Member notices.
		_ = n.member.Progress(n.kept.losses.take(done))
	}
}

// losses sums the losses of samples until they are reported.
type losses struct {
	mu      sync.Mutex
	sum     float64
	samples int
}

// add adds the losses of some samples: see backend.Backend.
func (l *losses) add(sum float64, samples int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum, l.samples = l.sum+sum, l.samples+samples
}

// take returns a number of steps with the losses that were added since the call before.
func (l *losses) take(steps int) (_ int, sum float64, samples int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, samples = l.sum, l.samples
	l.sum, l.samples = 0, 0
	return steps, sum, samples
}

// trainingModel is the member.ModelReader of a process during training.
type trainingModel struct{ n *node }

// ReadRows implements member.ModelReader.
func (a trainingModel) ReadRows(server int, signs []uint64) ([]float32, error) {
	values, err := exec.RowValues(a.n.executor.Model(), signs)
	if err != nil {
		return nil, err
	}
	return values, a.n.local.ReadRows(server, signs, values)
}

// ReadDense implements member.ModelReader.
func (a trainingModel) ReadDense(at msg.Address) (model.Values, error) {
	return a.n.local.ReadDense(at)
}

// RankSteps implements member.ModelReader.
func (a trainingModel) RankSteps() int { return a.n.local.RankSteps() }

// CopyRank implements member.ModelReader.
func (a trainingModel) CopyRank() (exec.RankState, error) { return a.n.local.CopyRank() }

// Digests implements member.ModelReader. The host asks for them after training.
func (a trainingModel) Digests() (driver.Digests, error) {
	return driver.Digests{}, errors.New("the training has not ended")
}

// Export implements member.ModelReader. The host asks for it after training.
func (a trainingModel) Export(string, string, int) error {
	return errors.New("the training has not ended")
}

// finalModel is the member.ModelReader of a process after training.
type finalModel struct{ n *node }

// ReadRows implements member.ModelReader.
func (a finalModel) ReadRows(server int, signs []uint64) ([]float32, error) {
	values, err := exec.RowValues(a.n.executor.Model(), signs)
	if err != nil {
		return nil, err
	}
	return values, a.n.executor.Model().ReadRows(server, signs, values)
}

// ReadDense implements member.ModelReader.
func (a finalModel) ReadDense(at msg.Address) (model.Values, error) {
	return a.n.executor.Model().Weights(at).Snapshot()
}

// RankSteps implements member.ModelReader.
func (a finalModel) RankSteps() int { return a.n.local.RankSteps() }

// CopyRank implements member.ModelReader. The host asks for it during training.
func (a finalModel) CopyRank() (exec.RankState, error) {
	return exec.RankState{}, errors.New("the training has ended")
}

// Digests implements member.ModelReader.
func (a finalModel) Digests() (driver.Digests, error) { return a.n.local.Digests(), nil }

// Export implements member.ModelReader. The host asks for one export after the other.
func (a finalModel) Export(folder, name string, fullEvery int) (err error) {
	k := a.n.kept
	if k.writing != nil {
		<-k.writing.Done()
	}
	k.chain.FullEvery = fullEvery
	if k.writing, err = checkpoint.BeginExport(folder, name, k.executor.Model().State(), a.n.Buffer,
		k.chain); err != nil {
		return err
	}
	go a.n.reportSaved(k.writing)
	return nil
}

package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// rogue is an NN worker that answers Start with outputs set by the test, and does nothing else.
type rogue struct {
	role.Role
	outputs []role.Output
}

func (g rogue) HandleInput(_ unit.Tick, in role.Input, out *role.Outputs) {
	if in.Kind == role.Start {
		out.List = append(out.List, g.outputs...)
	}
}

// runRogue runs a cluster whose first NN worker is a rogue.
func runRogue(t *testing.T, outputs ...role.Output) (err error) {
	synctest.Test(t, func(t *testing.T) {
		cfg, p := cluster(t, pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS}, steps(10))
		r := newRun(cfg, p, Options{}, AllLocal, nil)
		worker := r.instance(msg.Address{Role: msg.NNWorker})
		worker.state = rogue{worker.state, outputs}
		defer r.fail(nil)
		err = r.drive()
	})
	return err
}

// Prefetch is 3, so a fourth request without an answer is one too many.
func TestBreachOfCreditStopsTheRun(t *testing.T) {
	var asks []role.Output
	for step := range int32(4) {
		asks = append(asks, role.Output{Kind: role.Send, Message: msg.Message{
			Kind: msg.GetEmbeddings, From: msg.Address{Role: msg.NNWorker},
			To: msg.Address{Role: msg.EmbeddingWorker}, Step: step,
		}})
	}
	err := runRogue(t, asks...)
	if err == nil || !strings.Contains(err.Error(), "GetEmbeddings rank 0 step 3") ||
		!strings.Contains(err.Error(), "without credit") {
		t.Error(err)
	}
}

func TestHaltGivesItsReason(t *testing.T) {
	if err := runRogue(t, role.Output{Kind: role.Halt, Reason: errDisk}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// A handle that is not released is found when the run is over.
func TestLeakIsReported(t *testing.T) {
	cfg, p := cluster(t, pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS}, steps(1))
	r := newRun(cfg, p, Options{}, AllLocal, nil)
	defer r.fail(nil)
	if err := r.checkLeaks(); err != nil {
		t.Fatal(err)
	}
	loader := r.instance(msg.Address{Role: msg.DataLoader})
	if _, err := p.Execute(loader.state.Address(), loader.store, role.Work{Kind: role.Read},
		role.Operands{Makes: []role.Handle{{Kind: role.GlobalBatch}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.checkLeaks(); !errors.Is(err, errLeak) ||
		!strings.Contains(err.Error(), "data-loader 0, 1 handles") {
		t.Error(err)
	}
}

// cut is a Remote that reaches no process.
type cut struct{ Remote }

var errCut = errors.New("no process is reached")

func (cut) Send(context.Context, []exec.Letter) error { return errCut }

// A role whose last messages cannot be sent has not stopped, so that the run ends with the error.
func TestARoleThatCannotSendHasNotStopped(t *testing.T) {
	n := &instance{run: &run{remote: cut{}}, state: rogue{}, stopped: make(chan struct{}),
		letters: make([]exec.Letter, 1)}
	err := n.handleOrStop(&delivery{input: role.Input{Kind: role.Stop}}, &role.Outputs{})
	select {
	case <-n.stopped:
		t.Error("it has stopped")
	default:
	}
	if err != errCut {
		t.Error(err)
	}
}

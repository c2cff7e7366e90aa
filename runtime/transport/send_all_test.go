package transport

import (
	"errors"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// unwritten gives an endpoint streams to other workers, whose frames wait: nothing writes them.
func unwritten(t *testing.T, others ...int) (n *Endpoint, waiting map[int]*outbox) {
	n, waiting = listen(t, 0, newMailbox()), map[int]*outbox{}
	for _, i := range others {
		waiting[i] = newOutbox()
		n.out[worker(i)] = &outStream{name: name(i), outbox: waiting[i]}
	}
	t.Cleanup(func() {
		clear(n.out)
		n.Abort()
	})
	return n, waiting
}

func letters(all ...msg.Message) (out []exec.Letter) {
	for _, m := range all {
		out = append(out, exec.Letter{Message: m})
	}
	return out
}

// What is sent together to one process is one packet, in the order of sending.
func TestSendAllFillsOnePacketForEachProcess(t *testing.T) {
	n, waiting := unwritten(t, 1, 2)
	if err := n.SendAll(letters(rows(0, 1, 5), rows(0, 2, 6), rows(0, 1, 7), rows(0, 1, 8))); err != nil {
		t.Fatal(err)
	}
	for i, steps := range map[int][]int32{1: {5, 7, 8}, 2: {6}} {
		p, _ := waiting[i].next()
		if len(p.segments) != len(steps) || len(waiting[i].frames) > 0 {
			t.Errorf("worker %d: a packet of %d frames, and %d more; want %d in one packet", i,
				len(p.segments), len(waiting[i].frames), len(steps))
			continue
		}
		for at, step := range steps {
			h, err := wire.ParseHeader(p.segments[at])
			if err != nil || h.Message.Step != step {
				t.Errorf("worker %d, frame %d: step %d, %v; want step %d", i, at, h.Message.Step, err, step)
			}
		}
	}
}

// A process that is gone does not keep messages from the others.
func TestSendAllBesideAProcessThatIsGone(t *testing.T) {
	n, waiting := unwritten(t, 1, 2)
	waiting[1].closeNow()
	err := n.SendAll(letters(rows(0, 1, 5), rows(0, 2, 6)))
	if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), name(1)) || len(waiting[2].frames) != 1 {
		t.Errorf("%v, and %d messages for %s; want the name of the one that is gone, and 1", err,
			len(waiting[2].frames), name(2))
	}
}

// If one message cannot be sent, none is.
func TestSendAllOrNothing(t *testing.T) {
	n, waiting := unwritten(t, 1)
	unknown := letters(rows(0, 1, 5), rows(0, 3, 5))
	strange := letters(rows(0, 1, 5), rows(0, 1, 6))
	strange[1].Payload = struct{ exec.Travels }{}
	for want, all := range map[string][]exec.Letter{
		"no process with this role is connected": unknown, "has no encoding": strange,
	} {
		if err := n.SendAll(all); err == nil || !strings.Contains(err.Error(), want) ||
			len(waiting[1].frames) > 0 {
			t.Errorf("%v, and %d messages are sent; want %q and none", err, len(waiting[1].frames), want)
		}
	}
}

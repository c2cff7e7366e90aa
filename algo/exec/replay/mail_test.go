package replay

import (
	"testing"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
)

// The batches that a rank has in flight, at most twice the prefetch, are not late in any order; a message
// from one step before them is a duplicate.
func TestOnlyEchoesAreLate(t *testing.T) {
	const prefetch = 4
	b := newMailbox(&role.Config{Ranks: 1, Prefetch: prefetch, Retry: 1})
	for step := int32(2*prefetch - 1); step >= 0; step-- {
		b.announce(msg.Message{Kind: msg.Lookup, Step: step})
	}
	if len(b.late) != 0 {
		t.Errorf("%d of %d batches under way are late", len(b.late), 2*prefetch)
	}
	b.announce(msg.Message{Kind: msg.Lookup, Step: 2 * prefetch})
	echo := msg.Message{Kind: msg.Lookup, Step: 0}
	if b.announce(echo); b.late[echo] != 1 {
		t.Errorf("a batch %d steps back is late %d times, want once", 2*prefetch, b.late[echo])
	}
}

// In a run of any length a mailbox holds the messages of a few steps and those that arrive late, and every
// message is kept until it is received.
func TestMailIsBounded(t *testing.T) {
	const steps, ranks, copies = 5000, 2, 3
	cfg := &role.Config{Ranks: ranks, Prefetch: 4, Retry: 1}
	draw := rng.New(1, "mail")
	sent := make([][]msg.Message, 2*steps) // by the time of their sending
	received := make([][]msg.Message, 2*steps)
	late := 0
	for step := range int32(steps) {
		for rank := range int32(ranks) {
			for i := range int32(copies) {
				m := msg.Message{Kind: msg.Lookup, Rank: rank, Step: step, Floor: i}
				sent[step] = append(sent[step], m)
				switch draw.IntN(10) {
				case 0: // lost
				case 1: // repeated, the second time late
					late++
					at := step + int32(draw.IntN(1000))
					received[at] = append(received[at], m)
					fallthrough
				default:
					received[step+1] = append(received[step+1], m)
				}
			}
		}
	}
	b := newMailbox(cfg)
	for _, all := range received {
		for _, m := range all {
			b.announce(m)
		}
	}
	b.begin()
	most := 0
	for at := range received {
		for _, m := range sent[at] {
			b.add(m, parcel{payload: &exec.IDs{Samples: int(m.Step)}})
		}
		for _, m := range received[at] {
			if b.find(m, 0) < 0 {
				t.Fatalf("time %d: %v was dropped", at, m)
			}
			if got := b.receive(m, 0).(*exec.IDs).Samples; got != int(m.Step) {
				t.Fatalf("time %d: %v came with %v", at, m, got)
			}
		}
		most = max(most, len(b.parcels[0])+len(b.parcels[1]))
	}
	// At any time about a tenth of the messages of the last 1000 steps wait to arrive late.
	if limit := ranks*copies*int(horizon(cfg)+2) + ranks*copies*1000/10*3/2; most > limit {
		t.Errorf("%d messages were held, want at most %d", most, limit)
	}
	if late < 1000 || len(b.late) != 0 {
		t.Errorf("%d messages were late, of which %d are still to come", late, len(b.late))
	}
}

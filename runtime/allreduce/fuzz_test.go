package allreduce_test

import (
	"errors"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/allreduce"
	"tandem/runtime/wire"
)

// For any chunks that other members send while this one feeds, or that they get when they are back, Deliver
// neither panics nor keeps more than Ahead rounds of each, and its refusals name the sender.
func FuzzDeliver(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 2, 0, 4, 1, 0, 0, 2, 1})
	f.Add([]byte{4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		members := []msg.Address{address(0), address(1), address(2), address(3)}
		accepted := 0
		g, err := allreduce.New(allreduce.Config{
			Members: members, Self: 1, Send: func([]exec.Letter) error { return nil },
			Done:    func(int32, int32, [][]float32) {},
			Buckets: 2, Values: 16, Small: 6, Stats: 2, Ahead: 2, Recovers: len(data)%2 == 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		feeds := int32(0)
		for ; len(data) >= 6; data = data[6:] {
			who, step, bucket, values := data[0]%6, int32(int8(data[1])), int(int8(data[2])), int(data[4]%6)
			if who == 5 {
				// A round that is fed twice is this member's own fault, and part of a wrong length another's.
				switch {
				case data[5]%4 == 0:
					_ = g.Gather(feeds, 0, nil)
				default:
					_ = g.Feed(feeds, 0, make([]float32, 1+8*int(data[5]%2)))
				}
				feeds++
				continue
			}
			if data[3]%8 == 4 {
				if err := g.Return(address(int32(who))); err != nil {
					t.Fatal(err)
				}
			}
			from := address(int32(who))
			err := g.Deliver(msg.Message{From: from, Step: step}, wire.Chunk{
				Bucket: bucket, Sum: data[5]%2 == 1, Own: data[3]%4 == 3,
				Values: make([]float32, values), Stats: make([]float32, data[5]%5),
			})
			refused := new(allreduce.Refused)
			if err == nil {
				accepted++
			} else if !errors.As(err, &refused) || refused.From != from {
				t.Fatalf("%v, of %v", err, from)
			}
		}
		// Of each of 3 others: 2 rounds ahead, and a part and a sum of each round that was fed.
		if most := 3 * (2 + 2*int(feeds)); accepted > most && !g.Recovers { // else some are ignored
			t.Errorf("%d chunks are taken, want at most %d", accepted, most)
		}
	})
}

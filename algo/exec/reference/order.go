package reference

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// Order is the order in which a run has read and updated the rows of its batches on the embedding PSs.
type Order struct {
	Ranks int `json:"ranks" yaml:"ranks"`
	PSs   int `json:"embedding_ps" yaml:"embedding-ps"`
	// Accesses has a number for every read and every update: 2·((step·Ranks + rank)·PSs + PS), and 1 more for
	// an update.
	Accesses []int32 `json:"accesses" yaml:"accesses,flow"`
}

// access is a read or an update of the rows that a batch has on a PS.
type access struct {
	update         bool
	ps, rank, step int
}

// decode returns an access, or an error if a run of some steps has none of this number.
func (o *Order) decode(number int32, steps int) (access, error) {
	if most := 2 * steps * o.Ranks * o.PSs; number < 0 || int(number) >= most {
		return access{}, fmt.Errorf("access %d is out of range; want 0 to %d", number, most-1)
	}
	batch := int(number) / 2 / o.PSs
	return access{update: number%2 == 1, ps: int(number) / 2 % o.PSs, rank: batch % o.Ranks,
		step: batch / o.Ranks}, nil
}

// Delays returns, for every step, the delay of its row gradients as package delay understands it: the mean
// number of later reads of a rank that miss an update, over the ranks that read, the ranks that update and
// the PSs, rounded. It is 0 for a step without updates. Accesses that a run of this length does not have are
// left out.
func (o *Order) Delays(steps int) []int {
	read := make([][]int, o.PSs*o.Ranks) // by PS and rank: the steps that were read
	missed, updates := make([]int, steps), make([]int, steps)
	for _, number := range o.Accesses {
		a, err := o.decode(number, steps)
		if err != nil {
			continue
		}
		of := read[a.ps*o.Ranks : (a.ps+1)*o.Ranks]
		if !a.update {
			of[a.rank] = append(of[a.rank], a.step)
			continue
		}
		updates[a.step]++
		for _, all := range of {
			for i := len(all) - 1; i >= 0 && all[i] > a.step; i-- {
				missed[a.step]++
			}
		}
	}
	delays := make([]int, steps)
	for step, n := range updates {
		if all := n * o.Ranks; all > 0 {
			delays[step] = (2*missed[step] + all) / (2 * all)
		}
	}
	return delays
}

// OrderRecorder is an event.Observer that records the order of a run without faults.
type OrderRecorder struct{ order Order }

// NewOrderRecorder returns a recorder for a run with a number of ranks and of embedding PSs.
func NewOrderRecorder(ranks, pss int) *OrderRecorder {
	return &OrderRecorder{Order{Ranks: ranks, PSs: pss}}
}

// Observe implements event.Observer.
func (r *OrderRecorder) Observe(e event.Record) {
	if e.Role.Role != msg.EmbeddingPS || e.Kind != event.LookupServed && e.Kind != event.PutApplied {
		return
	}
	number := 2 * ((e.Step*int32(r.order.Ranks)+e.Rank)*int32(r.order.PSs) + e.Role.Index)
	if e.Kind == event.PutApplied {
		number++
	}
	r.order.Accesses = append(r.order.Accesses, number)
}

// Order returns the order until now. The caller must not change it.
func (r *OrderRecorder) Order() *Order { return &r.order }

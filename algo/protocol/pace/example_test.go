package pace_test

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
)

// A rule decides how far a rank may read ahead, and promises bounds on staleness.
func Example() {
	rule, err := pace.New("hybrid", pace.Settings{Staleness: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for outstanding := range 4 {
		fmt.Printf("%d batches outstanding: may issue %t\n", outstanding, rule.MayIssue(outstanding))
	}
	bounds := rule.Bounds(4)
	fmt.Printf("with 4 ranks: own %d, cross %d, inflight %d\n", bounds.Own, bounds.Cross, bounds.Inflight)
	// Output:
	// 0 batches outstanding: may issue true
	// 1 batches outstanding: may issue true
	// 2 batches outstanding: may issue true
	// 3 batches outstanding: may issue false
	// with 4 ranks: own 2, cross 5, inflight 11
}

// A Meter measures staleness from the records of a run: here a rank reads for step 1 before its step 0 is
// applied.
func ExampleMeter() {
	worker, rank := msg.Address{Role: msg.EmbeddingWorker}, msg.Address{Role: msg.NNWorker}
	ps := msg.Address{Role: msg.EmbeddingPS}
	meter := pace.NewMeter(1, 1)
	for _, r := range []event.Record{
		{Role: worker, Kind: event.BatchRouted, Step: 0, Rows: []int32{10}},
		{Role: rank, Kind: event.LookupIssued, Step: 0},
		{Role: ps, Kind: event.LookupServed, Step: 0},
		{Role: worker, Kind: event.BatchRouted, Step: 1, Rows: []int32{10}},
		{Role: rank, Kind: event.LookupIssued, Step: 1},
		{Role: ps, Kind: event.LookupServed, Step: 1},
	} {
		meter.Observe(r)
	}
	s := meter.Staleness()
	rule := pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive}
	fmt.Printf("%d reads, own staleness %d, bound %d\n", s.Own.Count(), s.Own.Max(), rule.Bounds(1).Own)
	fmt.Println("within all bounds:", pace.CheckBounds(rule, 1, &s) == nil)
	// Output:
	// 2 reads, own staleness 1, bound 0
	// within all bounds: false
}

package fault_test

import (
	"fmt"

	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
)

// A driver passes every message of a role through an Injector and delivers the parcels that come out.
func Example() {
	plan, err := fault.Parse("drop=0.2,duplicate=0.2,seed=3")
	if err != nil {
		fmt.Println(err)
		return
	}
	worker, ps := msg.Address{Role: msg.EmbeddingWorker}, msg.Address{Role: msg.EmbeddingPS}
	in := fault.NewInjector[string](&plan, worker, 0)
	for step := range int32(8) {
		m := msg.Message{Kind: msg.Lookup, From: worker, To: ps, Step: step}
		fmt.Printf("step %d: %d copies\n", step, len(in.Send(nil, 0, m, "payload")))
	}
	fmt.Println(in.Counts())
	// Output:
	// step 0: 1 copies
	// step 1: 1 copies
	// step 2: 1 copies
	// step 3: 2 copies
	// step 4: 1 copies
	// step 5: 1 copies
	// step 6: 0 copies
	// step 7: 2 copies
	// of 8 messages 1 lost, 2 duplicated, 0 delayed, 0 held back; crashes: 0
}

// A Schedule decides, before every input of a role instance, whether the role crashes.
func ExampleSchedule() {
	plan, err := fault.Parse("crash=embedding-worker/0@2+1500ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	schedule := plan.Schedule(msg.Address{Role: msg.EmbeddingWorker})
	for step := range int32(4) {
		if away, due := schedule.Due(step); due {
			fmt.Printf("an input about step %d: the role crashes and is away for %v\n", step, away)
			continue
		}
		fmt.Printf("an input about step %d: the role handles it\n", step)
	}
	// Output:
	// an input about step 0: the role handles it
	// an input about step 1: the role handles it
	// an input about step 2: the role crashes and is away for 1.5s
	// an input about step 3: the role handles it
}

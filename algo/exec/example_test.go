package exec_test

import (
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// A driver hands the executor the work that a role asks for, and carries payloads from the store of the
// sender to the store of the receiver. Here a data loader reads a global batch for two ranks and sends rank 1
// its samples.
func Example() {
	executor, err := exec.New(exectest.Job(2, 1), exectest.NewColumns(16, 16), backend.Backend{})
	if err != nil {
		panic(err)
	}
	loader := msg.Address{Role: msg.DataLoader}
	sent, received := exec.NewStore(), exec.NewStore()

	global := role.Handle{Kind: role.GlobalBatch}
	result, err := executor.Execute(loader, sent, role.Work{Kind: role.Read},
		role.Operands{Makes: []role.Handle{global}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("samples of the ranks:", result.Samples)

	message := msg.Message{
		Kind: msg.Samples, From: loader, To: msg.Address{Role: msg.NNWorker, Index: 1}, Rank: 1,
	}
	payload := executor.Payload(sent, message, global)
	executor.Keep(received, message, role.Handle{Kind: role.BatchSamples, Rank: 1}, payload, nil)
	fmt.Printf("%T of %d samples, kept under %d handle\n", payload, payload.(exec.Samples).Part.Samples,
		received.Len())

	sent.Release(global) // the payload stays valid
	fmt.Println("the sender holds", sent.Len(), "handles")
	// Output:
	// samples of the ranks: [8 8]
	// exec.Samples of 8 samples, kept under 1 handle
	// the sender holds 0 handles
}

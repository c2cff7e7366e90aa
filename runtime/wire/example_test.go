package wire_test

import (
	"fmt"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// An embedding worker asks a PS for the rows of three signs. The message travels as one frame, whose header
// can be checked before the payload is decoded.
func Example() {
	sender := wire.Identity{Run: wire.RunID{0xca, 0xfe}, Incarnation: 1}
	m := msg.Message{
		Kind: msg.Lookup,
		From: msg.Address{Role: msg.EmbeddingWorker, Index: 1},
		To:   msg.Address{Role: msg.EmbeddingPS},
		Rank: 2, Step: 7,
	}
	signs := exec.Signs{Signs: compress.Signs{Plain: []uint64{3, 14, 15}}}

	frame, err := wire.Encode(sender, m, signs)
	if err != nil {
		fmt.Println(err)
		return
	}
	data := slices.Concat(frame.Segments...)
	fmt.Println(frame.Size, "bytes,", len(data)-wire.HeaderSize, "of payload")

	header, err := wire.ParseHeader(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(header.Message)
	fence := wire.Fence{Run: sender.Run, Incarnation: 2}
	fmt.Println(fence.Check(&header.Identity))

	payload, err := header.Payload(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(payload.(exec.Signs).Plain)

	// Output:
	// 112 bytes, 40 of payload
	// Lookup rank 2 step 7, embedding-worker 1 → embedding-ps 0
	// stale: incarnation: 1 was replaced by 2
	// [3 14 15]
}

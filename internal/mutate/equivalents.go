package mutate

// An Equivalent is a mutant that no test can kill, because it behaves as the
// original does.
type Equivalent struct {
	File   string // from the root of the module
	Before string // the lines without indentation
	After  string
	Proof  string
}

// matches reports whether the entry is about a mutant.
func (e Equivalent) matches(m *Mutant) bool {
	return e.File == m.File && e.Before == m.Before && e.After == m.After
}

// Equivalents are the mutants that the draw leaves out.
//
// Long because it is a table.
func Equivalents() []Equivalent {
	return []Equivalent{
		{
			File:   "algo/numeric/opt/ftrl.go",
			Before: "z, n := state[:len(embedding)], state[len(embedding):]",
			After:  "z, n := state[:(len(embedding) + 1)], state[len(embedding):]",
			Proof: "Only the first len(embedding) elements of z are used, and the state of a row has " +
				"twice as many, at least 2.",
		},
		{
			File:   "algo/numeric/compress/ids.go",
			Before: "positionBits := max(1, bits.Len(uint(max(len(d.ids), 1)-1)))",
			After:  "positionBits := max(1, bits.Len(uint(max(len(d.ids), (1 + 1))-1)))",
			Proof: "They differ for no id and one id only, where max(1, bits.Len(0)) and max(1, " +
				"bits.Len(1)) are both 1.",
		},
		{
			File: "algo/numeric/compress/bits.go", Before: "if at/8+8 <= len(body) {",
			After: "if at+8 <= len(body) {",
			Proof: "The mutant takes the other path more often, which reads the same bytes through a copy.",
		},
		{
			File:   "algo/exec/replay/reader.go",
			Before: "more := min(n-len(all), max(len(all), 2*blockSize))",
			After:  "more := min(n-len(all), max(len(all), 2))",
			Proof: "The same n bytes are read in more parts, and an end of the stream ends any of them: " +
				"speed only.",
		},
		{
			File:   "algo/exec/replay/reader.go",
			Before: "more := min(n-len(all), max(len(all), 2*blockSize))",
			After:  "more := min(n-len(all), max((len(all) + 1), 2*blockSize))",
			Proof:  "The same n bytes are read in other parts.",
		},
		{
			File: "algo/protocol/role/progress.go", Before: "b |= 1 << i", After: "b |= (1 + 1) << i",
			Proof: "No role has more than seven flags in a byte, so each still has a bit of its own; " +
				"states are only compared and hashed.",
		},
		{
			File:   "algo/protocol/pace/meter_ledger.go",
			Before: "for s.first < s.routed && *l.leftOf(rank, s.first) == 0 {",
			After:  "for s.first <= s.routed && *l.leftOf(rank, s.first) == 0 {",
			Proof:  "Step routed is not routed, so what is left of it is unrouted, never 0.",
		},
		{
			File: "algo/exec/replay/player.go", Before: "a.next = nil", After: "",
			Proof: "Reader.Next returns no step with an error.",
		},
		{
			File: "algo/protocol/pace/rule.go", Before: "const Unbounded = 1<<31 - 1",
			After: "const Unbounded = (1 + 1)<<31 - 1",
			Proof: "Any number that no staleness of 32-bit counts exceeds is as good.",
		},
		{
			File: "algo/numeric/route/merge.go", Before: "for k := range min(named/each, slot.FixedSize) {",
			After: "for k := range min(named, slot.FixedSize) {",
			Proof: "It also scales gradients of places without an id, in a copy where they are never read.",
		},
		{
			File: "algo/numeric/route/merge.go", Before: "scaleGrad(slot.Scale, own[k*(dim+1):][:dim], each)",
			After: "scaleGrad(slot.Scale, own[k*(dim+1):][:dim + 1], each)",
			Proof: "It also scales the gradient of the mask, in a copy in which it is never read.",
		},
		{
			File: "algo/numeric/collective/tree.go", Before: "for i := 0; i < n; i += 8 * stride {",
			After: "for i := 0; i <= n; i += 8 * stride {",
			Proof: "With i = n, branch is given no buffers, computes n ≤ 1 and adds nothing.",
		},
		{
			File: "algo/numeric/collective/tree.go", Before: "case 8:", After: "case (8 + 1):",
			Proof: "Eight buffers take the default case, which adds them along the same tree; there are " +
				"never nine.",
		},
		{
			File: "algo/numeric/collective/tree.go", Before: "for k := 0; k+span < n; k += 2 * span {",
			After: "for k := 0; k+span < n; k += 2 {",
			Proof: "All additions of the original happen, in its order; those besides change buffers at " +
				"odd multiples of a span that has been added up, which are scratch.",
		},
		{
			File: "algo/numeric/opt/dense.go", Before: "sweepTask  = 64 * sweepBlock",
			After: "sweepTask  = 64",
			Proof: "Each parameter is updated on its own: the size of a task decides speed only.",
		},
		{
			File:   "algo/numeric/opt/dense.go",
			Before: "pool.ForEach((len(params)+sweepTask-1)/sweepTask, func(task int) {",
			After:  "pool.ForEach(((len(params) + 1)+sweepTask-1)/sweepTask, func(task int) {",
			Proof:  "The additional task, if there is one, begins at the end of the parameters and is empty.",
		},
		{
			File: "algo/numeric/table/access.go", Before: "c.found = nil", After: "",
			Proof: "Apply ends by setting it to nil; only a panic of the optimizer's could leave it.",
		},
		{
			File: "algo/numeric/table/apply.go", Before: "if c.behind(n) {", After: "if !(c.behind(n)) {",
			Proof: "Both branches only choose the memory that is asked for ahead of its use, and any " +
				"address may be asked for.",
		},
		{
			File:   "algo/numeric/table/chunk.go",
			Before: "if n := min(hi, c.groups) - lo; n > 0 {",
			After:  "if n := min(hi, c.groups) - lo; n >= 0 {",
			Proof: "It asks ahead for one place more, of an array that has it, and any address may be " +
				"asked for.",
		},
		{
			File: "algo/exec/reference/sequential.go",
			Before: "q.passes = append(q.passes, " +
				"engine.NewPass((t.Training.GlobalBatch-1)/t.TotalGroups()+1))",
			After: "q.passes = append(q.passes, engine.NewPass((t.Training.GlobalBatch-1)+1))",
			Proof: "A pass with room for more samples than a group has computes the same values.",
		},
		{
			File: "algo/exec/replay/mail.go", Before: "if m.Step <= b.newest[m.Rank] {",
			After: "if m.Step < b.newest[m.Rank] {",
			Proof: "For the newest step itself the mutant looks for messages to drop once more. There are " +
				"none: since the step became the newest, put has kept no old message that is not to come, " +
				"and received has dropped each that came.",
		},
		{
			File: "algo/protocol/role/admit.go", Before: "return 0, true", After: "return (0 + 1), true",
			Proof: "CheckCredit does not use the number of a message that is known.",
		},
		{
			File: "algo/numeric/route/pool.go", Before: "if n := int(ends[i+1] - ends[i]); n > 1 {",
			After: "if n := int(ends[i+1] - ends[i]); n >= 1 {",
			Proof: "One row has the scale 1/√1 = 1, and a product by 1 is exact.",
		},
		{
			File:   "runtime/transport/inbox.go",
			Before: "func idOf(m msg.Message) payloadID { return payloadID{m.Kind, m.To, m.Rank, m.Step} }",
			After:  "func idOf(m msg.Message) payloadID { return payloadID{m.Kind, m.To, m.Step, m.Rank} }",
			Proof:  "Ids are only compared with each other, and stay different for different messages.",
		},
		{
			File: "runtime/wire/writer.go", Before: "if len(w.tail) > 0 {",
			After: "if (len(w.tail) + 1) > 0 {",
			Proof: "An empty segment adds no byte to a frame.",
		},
		{
			File: "runtime/onnx/fill.go", Before: "return 0, 0, nil, 0, errGraph",
			After: "return 0, 0, nil, (0 + 1), errGraph",
			Proof: "No caller uses the size that comes with an error.",
		},
		{
			File: "datasets/stream.go", Before: "r.decoded.keep(2 * parallel.Cores())",
			After: "r.decoded.keep(2)",
			Proof: "A block that is not kept is decoded again: speed only.",
		},
		{
			File: "sim/station/shared.go", Before: "if n := len(c.idle); n > 0 {",
			After: "if n := len(c.idle); n > (0 + 1) {",
			Proof: "It uses a fresh slot though one is idle; ids of slots are only compared.",
		},
		{
			File: "sim/station/lane.go", Before: "if 2*l.head >= len(l.pieces) {",
			After: "if (2 + 1)*l.head >= len(l.pieces) {",
			Proof: "Pieces move to the front of their memory more often: speed only.",
		},
		{
			File: "sim/cluster/timeline.go", Before: "delete(r.queued, i)", After: "",
			Proof: "The entry of a task is set again when the task is queued again, before it is read.",
		},
		{
			File: "cmd/serve/reload.go", Before: "defer ticker.Stop()", After: "",
			Proof: "The garbage collector frees a ticker that is not stopped, since Go 1.23.",
		},
		{
			File: "runtime/inference/queue.go",
			Before: "runtime.Gosched() // requests that have arrived, and only need a core to be read, " +
				"join this one",
			After: "// requests that have arrived, and only need a core to be read, join this one",
			Proof: "It decides which requests are computed together, and so speed only.",
		},
		{
			File: "sim/fit/temper.go", Before: "if x < 0 {", After: "if x <= 0 {",
			Proof: "0 becomes 4, whose reflection is 0.",
		},
		{
			File:   "runtime/checkpoint/restore_rows.go",
			Before: "servers := r.plan.Servers() * r.several", After: "servers := r.plan.Servers()",
			Proof: "A file that is not known to stay is read, and its rows go to the tables that own them: " +
				"speed only.",
		},
		{
			File: "runtime/onnx/fill.go", Before: "more += 2*binary.MaxVarintLen32 + len(content)",
			After: "more += 2 + len(content)",
			Proof: "It is the memory asked for in advance; append asks for more.",
		},
		{
			File: "datasets/parquet/column.go", Before: "r.pages.Close()", After: "",
			Proof: "It returns buffers to the pools of the library: speed only, as the garbage collector " +
				"frees them.",
		},
		{
			File: "runtime/ring/segment_linux.go", Before: "capacity&(capacity-1) != 0 {",
			After: "capacity&(capacity-(1 + 1)) != 0 {",
			Proof: "Both are 0 for powers of two alone: an even x = 2y has x&(x-2) = 2(y&(y-1)), and an " +
				"odd one, of at least 3, has the last bit in both.",
		},
		{
			File:   "runtime/checkpoint/candidates.go",
			Before: "parts := make([][]table.Candidate, len(r.tables))",
			After:  "parts := make([][]table.Candidate, (len(r.tables) + 1))",
			Proof:  "The additional part stays empty, and empty parts are skipped.",
		},
		{
			File: "runtime/onnx/fill.go", Before: "more := 0", After: "more := (0 + 1)",
			Proof: "It is the memory asked for in advance; append asks for more.",
		},
		{
			File: "runtime/transport/packet.go", Before: "packetMax = 1<<20 + 4<<10",
			After: "packetMax = 1<<20 + (4 + 1)<<10",
			Proof: "The pieces of large frames are 1 KiB larger at both ends, which are of one build: " +
				"speed only.",
		},
	}
}

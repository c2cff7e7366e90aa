// Package ring carries bytes from one process to another on the same machine, through memory that both have
// mapped.
//
// It answers one question: how do bytes reach another process of this machine without a system call for each
// message? A ring has one direction, one Writer and one Reader.
//
//	w, err := ring.New(ring.DefaultSize) // in the sending process
//	r, err := ring.Open(w.Offer())       // in the receiving process, which receives the text in some way
//	w.Accepted()                         // when the receiving process has opened it
//
//	n, err := w.TryWrite(segments, 0)    // never waits
//	err = w.WaitForRoom()
//	n, err := r.Read(buffer)             // waits for bytes
//
// # Memory
//
// The memory is a memfd: it has no name in any file system, so a process that is killed leaves nothing
// behind, and its size is sealed, so that neither end can take it from under the other. The Reader reaches
// it, and the pipes that it names, as /proc/PID/fd/N. New reserves the memory before it maps it, and fails if
// there is too little.
//
// # Doorbells
//
// An end that finds the ring empty, or full, says so in the memory and waits for a byte of a pipe. The other
// end makes a system call only if somebody waits.
//
// # Trust
//
// What the other end writes to the memory is checked before use: a position that goes backwards, or beyond
// the capacity, ends the ring with ErrCorrupt. Read copies bytes out of the memory, so its caller may check
// them and be sure that they stay as they are. An end that is closed does not depend on the other one to be
// woken. What the other end can do is waste the time of the core on which this end waits, by ringing for
// nothing.
//
// # Decisions
//
//   - Frames between processes of one machine travel in a ring for each direction; the gRPC stream beside it
//     carries introduction, heartbeats and the end. A ring takes two or three copies, and a system call only
//     where an end waits; gRPC over TCP makes more of both. Admission, fences and the detection of deaths
//     stay one mechanism. The price is a second way to test, and 1 MiB for each pair of processes and
//     direction.
//   - Both ends reserve the memory, so no access faults between ends that follow the rules. Only processes of
//     the same user reach it. A memfd exists on Linux only; elsewhere, and between containers, frames travel
//     over TCP.
//   - The bell is a pipe in Go's network poller. A goroutine that waits in a system call (futex) keeps its
//     processor for a while: co-located ranks then had one of two cores, and hybrid with 4 ranks at batch
//     1,024 kept 0.59 of its in-process rate; now it keeps 0.74.
//   - Before an end waits it looks at the ring, much longer while other goroutines of its process use the
//     processors. A pipe alone is late, because busy processors look at the poller every 10 ms. The price is
//     two pipes for each ring, and a look each time that a processor is free.
package ring

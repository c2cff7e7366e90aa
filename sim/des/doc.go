// Package des is a discrete-event queue: a virtual clock and typed events, handled one instant at a time in
// an order that depends only on the events themselves.
//
// A simulated system implements Handler. Queue.Run passes it every event in order and moves the clock from
// instant to instant.
//
// # Order
//
// The events that are pending for an instant when the clock reaches it form the first round of the instant.
// They are handled in the order (class, source, sequence). Events that a round schedules for the same instant
// form the next round. After the last round, the handler settles the instant once, for example to compute how
// shared resources are divided, after any number of transfers started or ended. If settling schedules events
// for the same instant, they form a further round, and the instant is settled again.
//
// A queue is single-threaded and draws no random numbers unless it is shuffled (Queue.Shuffle); a handler
// that needs some uses a stream of algo/rng.
//
// # The heap
//
// The heap is the inner loop of every simulation. It uses that virtual time never goes back, which
// container/heap cannot.
package des

// Package driver runs roles in real time.
//
// It answers one question: how do the roles of a training run (algo/protocol/role), which are state machines
// without clocks or goroutines, run on real cores? Each role instance has one goroutine that owns its state
// machine and one goroutine for each lane of its work; on many cores, embedding workers have several, because
// their batches are independent. One more goroutine fires the timers of all roles. Messages inside a process
// are function calls, and their payloads travel by pointer.
//
// Run trains with all roles in this process:
//
//	err := driver.Run(ctx, cfg, executor, driver.Options{Observers: []event.Observer{meter}})
//
// A Local runs the roles of one process of several. Its caller implements Remote, which carries messages and
// sums to the other processes, and calls Local.Deliver for each message that arrives. Package process does so
// over the network.
//
// # Messages to other processes
//
// A role handles all inputs that wait for it before it sends what they cause to other processes. So one
// process receives it together.
package driver

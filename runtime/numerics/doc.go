// Package numerics computes a simulated run on the cores of this machine.
//
// The simulator decides, on one goroutine, what happens before what. Numerics does the arithmetic: it
// implements the simulator's interface cluster.Numerics. It is in runtime because neither algo nor sim may
// start a goroutine. Work runs on other goroutines only while its result is not needed, so the bits of a run
// are the same for any number of workers and any speed of the machine.
//
// Copies and updates happen on the simulator's goroutine, at the start and at the end of their service; all
// else runs ahead on any core. The price is a rendezvous for every piece of work.
package numerics

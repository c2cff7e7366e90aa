// Package fault injects faults into a run: messages that are lost, repeated, delayed or reordered, roles that
// crash, and roles that are slow.
//
// A Plan describes the faults. It is the section `faults:` of a job, and has a text form for command lines
// (Parse, Syntax). The zero Plan injects no fault. Slows, the section `slow:`, says which roles are slow all
// through a run, and has a text form too (ParseSlow).
//
// # Determinism
//
// The fate of a message is a pure function of the plan's seed, the sender, the sender's incarnation, the
// receiver, and the number of the message from this sender to this receiver. Two runs in which a role sends
// the same messages therefore suffer the same faults, under every driver.
//
// # What a driver does
//
//  1. It makes an Injector for every incarnation of every role, and passes each message that the role sends
//     through Injector.Send. It delivers the parcels that Send returns, each after its Delay.
//  2. At the time that Injector.Next returns, it calls Injector.Flush and delivers those parcels too.
//  3. It makes a Schedule for every role instance and calls Schedule.Due with the step of every input. If a
//     crash is due, the role loses its state, its handles, its work in flight and the input. After the time
//     that Due returns the driver starts the role as its next incarnation.
//  4. It makes every piece of work of a role last Slows.Factor times as long. No message and no bit of the
//     training changes.
//
// Faults are not injected into all-reduces. Roles that can restart (role.Config.CanRestart) crash
// with an empty state, others as with a redo log. Both lose what arrives while they are away. An
// NN worker crashes only where another rank has its parameters.
package fault

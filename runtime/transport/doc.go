// Package transport carries the messages of roles to other processes.
//
// Every process has one Endpoint. It listens, and it opens one gRPC stream to every process to which it
// sends. A stream has one direction, so two processes that talk to each other have two streams. The frames of
// package wire travel on a stream without passing through protobuf. Between processes of one machine they
// travel through shared memory (package ring), and the stream carries heartbeats and the end only: the opener
// of the stream offers a ring in its introduction, and it is used if the other end could open it. Otherwise,
// as with Options.TCP, frames travel on the stream. Promises and refusals are the same.
//
// # Use
//
//	n, err := transport.Listen("127.0.0.1:7000", transport.Options{Roles: mine, Job: digest, Handler: h})
//	err = n.Begin(run, incarnation, view) // as the host says; earlier streams wait
//	err = n.Connect(ctx, addresses)       // HOST:PORT of every role; waits for processes that start later
//	err = n.SendAll(letters)              // the receivers' handlers get messages and payloads
//	err = n.Close()                       // after success; n.Abort() after a failure
//
// When the host announces that a process has come back, with the same roles:
//
//	err = n.Replace(ctx, roles, address, incarnation, view) // or n.Fence, to send them nothing
//
// A process that joins after others have been replaced calls Fence for each of those, before Connect.
//
// # Promises
//
//  1. Messages from one process to another arrive in the order of Send, each once, until the stream breaks.
//     Then no further message arrives.
//  2. Send never waits, and a full stream or ring never prevents this process from receiving messages. Unsent
//     messages are in a queue, whose length the credit of the roles bounds.
//  3. The death of a connected process is noticed at once. A process that hangs, or whose machine is gone, is
//     noticed within 1.5 × Options.Silence. A process that pauses for less than Options.Silence is not lost.
//     Handler.Lost receives the name of the process's first role, once. A process that closes its Endpoint
//     has left and is not lost.
//  4. After Close has returned nil, everything that was sent has been delivered, except to processes that
//     have left or were reported to Handler.Lost or Handler.Dropped.
//  5. Close and Abort leave no goroutine behind.
//
// # Refusals
//
// A stream begins with an introduction: version, job, run, incarnation, view and roles. Until it is accepted,
// at most 64 KiB are read from a connection, 10 seconds pass, and 256 connections are open. The stream is
// accepted if its run is that of Begin, its incarnation is that of the last Fence or Replace of each of its
// roles (0 before), and no other process has one of its roles. A stream of a later incarnation waits until
// the host announces it. All other streams are refused.
//
// With Options.Identity (package identity), a connection is refused before it is read unless it is TLS with a
// certificate of the run, and a stream unless the certificate has the roles of its introduction.
//
// Every frame is checked before its payload is read: run, incarnation and view, that its sender is a role of
// the stream and its receiver a role of this process, and Options.Limit. Then Options.Admit checks the
// message with its payload, and Options.Inbox bounds what waits for the receiver. A process whose frame is
// refused is dropped: its streams are closed in both directions, and Handler.Dropped receives it. The run
// goes on as far as this package is concerned. Frames of an incarnation that has been replaced are discarded.
// Refusals are counted; Options.Log receives the first of every peer and wire.Reason.
//
// # Requirements
//
// Handler.Deliver must not wait for other messages. A payload that is sent must stay unchanged until the
// receiver answers. A payload that is received belongs to the receiver, with all its arrays, until the
// receiver frees it. Connections are not encrypted without Options.Identity.
//
// # Bounds
//
// The memory that a peer can take is bounded at every stage. A frame above 1 MiB travels in pieces, and its
// header is checked before memory is made for the rest. What is delivered and not handled is bounded for each
// role: too many messages are a refusal, too many bytes wait in the network, and repeated messages are
// discarded.
package transport

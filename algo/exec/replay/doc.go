// Package replay records what happens to the roles of a run and runs them again.
//
// # What is recorded
//
// A role is a function of its inputs, and work of one lane takes effect in the order of issue. So the
// sequence of inputs of each role determines a run. A recording has a stream for every role instance, with
// (now, input, fingerprint of the payload, outputs) of each step. A crash is recorded as the Start of the
// next incarnation. Payloads and parameters are not recorded; a replay computes them from the job and its
// data, and the fingerprints show where they first differ.
//
// A run whose hot rows are chosen again on the way has a recording for every part, which begins with new
// roles.
//
// # Use
//
// On a command line, cmd/train --record records and cmd/sim replay replays. In a program, a driver writes the
// stream of each role with a Writer: runtime/record has one for a folder of files. New joins the streams,
// opened as Readers, to a Recording. Recording.Replay runs the roles and their work again and compares
// outputs and parameters with the recording; Recording.Events runs the roles without their work and yields
// the records of the run in causal order.
//
// # Format
//
// A stream is a line of text, "tandem recording 4", whose number is the version of the format, and then
// blocks:
//
//	kind (1 byte) · length of the body (4 bytes) · body · CRC-32C of all blocks up to here (4 bytes)
//
// The first block is the Header. The last is the end mark, with the number of inputs and a digest of the
// role's parameters. The blocks between have the steps. A stream without an end mark is cut short. Integers
// are little-endian. The codec writes the bodies. The Header has a digest of the recorded types, so that a
// build of Tandem whose messages have other fields refuses the stream.
//
// # Bounds
//
// A stream need not be trusted. Every length is checked against the rest of the stream before memory is
// allocated, so reading takes at most 16 bytes of memory for every byte of the stream, and 128 KiB. Every
// role, rank, step and count of an input is checked against the recorded configuration before a role receives
// it (check.go): a value that is out of range is an error with file, offset and field.
//
// # A replay
//
// A role takes its next input when the cause of the input exists, and work is performed when a role asks for
// it. Several cores can serve the batches of one embedding worker: that work is independent, and ends in the
// order of its issue. Outputs must be equal byte for byte, and parameters bit for bit. Otherwise the first
// difference is named. Events skips the numerics, so the clocks of several processes need not agree.
//
// Injected faults are a part of a recording. A message may be lost or received several times. A timer fires
// when it was set, and not early. A crash is the Start of the next incarnation, which drops what the role
// held.
//
// The roles of a process that is killed and comes back have a stream for each incarnation. They must be roles
// of role.CanRestart, and have written each input before they acted on it (Writer.Through). A rank that comes
// back begins with the parameters of another at a step that no recording has, so it cannot be replayed.
//
// # Why not encoding/gob
//
// A value has exactly one encoding here, so equal bytes mean equal values.
package replay

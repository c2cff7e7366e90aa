// Package redo keeps the inputs of a role in a file, so that the role can come back after the death of its
// process with the state that it had, bit for bit.
//
// A role is a pure function of its inputs, and so is what its work computes. A Log therefore has the inputs
// alone, in order: messages with their payloads, and which work or timer ended when. Package driver writes an
// input before it performs anything that follows from it, and a later incarnation handles the inputs of the
// Log again, without sending a message. What the dead process had sent or received and not kept is then like
// a message that was lost: its sender or receiver asks again.
//
// # The file
//
//	header  "tandemRL", version, kind of the role, id of the run (16 bytes), number of the role,
//	        number of entries (8 bytes), CRC-32C of that number
//	entry   length of the body, CRC-32C of the body, CRC-32C of these two, 4 bytes of 0, body
//	body    kind, kind of work, 6 bytes of 0, time (8 bytes); and the frame of a message, as package wire
//	        encodes it
//
// Numbers are of 4 bytes, little endian. The number of entries is written after each of them. An entry that
// is cut short behind as many is the one that a process was writing when it died: it is removed, as nothing
// was performed that follows from it. A file with fewer entries has lost some of which others know the
// effects: that is an error, as is an entry that has another sum.
//
// # Decisions
//
//   - An entry is handed to the system, and not forced to the disk: it outlives its process, and not its
//     machine. Forcing each would cost a write of the disk for each message, and the death of a machine also
//     takes the disk away from those who begin again elsewhere. For that there are checkpoints.
//   - The Log of a part of a run begins with the part, from a saved model. So checkpoints bound its size and
//     the time to read it.
package redo

// Package msg defines the messages that the roles of a training cluster exchange, and the names of the roles.
//
// # Messages and payloads
//
// A Message is a small value without bulk data. Its kind, rank and step identify the batch that it is about,
// and the one payload that belongs to it. The driver carries the payload beside the message: as a pointer
// within a process, encoded between processes, and as a number of bytes in the simulator. Kind.HasPayload
// tells the kinds that carry one.
//
// # Roles
//
// A cluster consists of one data loader, embedding workers, embedding parameter servers, and one NN worker
// for each rank. EW and PS are short for embedding worker and parameter server. Some modes add dense PSs, and
// some a coordinator. An Address is one instance of a role. Job files, command lines and logs use the names
// that Role.String returns.
//
// # What a receiver may assume
//
// Messages can be lost, repeated and reordered. Kind, sender, rank and step identify a message, so a receiver
// recognises a duplicate without further state. Message.Floor tells it which steps are finished, so that it
// can forget them. In package role, Admit defines which role sends which kind, and Credit how many requests
// may be unanswered.
package msg

// Package frequent finds the rows that many samples contain: the hot rows of a job.
//
// # Decisions
//
//   - Rows are counted in the data, not by the roles that train them. A choice is then a function of job,
//     data and step: it needs no message, and replays and continued trainings repeat it. The price is a
//     second pass over some of the data, for which training stands still.
//   - A choice on the way counts the steps before it, not those after it, which the data have too: a stream
//     would not have them.
package frequent

// Package timeline says what every station of a simulated run did, and when: as a trace that Perfetto opens,
// and as the sums behind a table or a figure.
//
// A station that serves pieces of work has spans. A station that all work shares at once, such as the cores
// of a host or a network card, has loads: the number of servers that are busy, which is constant between two
// events. Both sum to the busy time that the station itself counts.
package timeline

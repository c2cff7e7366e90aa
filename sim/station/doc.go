// Package station has the places where work waits: queues with a number of servers, in one registry.
//
//   - Lane: service threads, first come, first served, whose results leave in the order of arrival.
//   - Shared: servers that all work shares at the same time, such as the cores and the memory of a host.
//   - Serial: one server, first come, first served, for work whose time is known when it arrives, such as a
//     stream of kernels or a copy engine.
//
// Other stations implement Station, such as the links of a network. A Registry groups the stations of a run
// in classes. It knows how busy each class was between two instants, how much work waited, and how many
// pieces were served.
//
// A station has no events of its own. Its caller drives it in virtual time, with instants that never
// decrease.
package station

// Package topo describes a cluster as nodes, ports and links, finds routes between ports, and plans the
// collectives of a group of ranks as flows over the links (sim/fabric).
//
// A Spec is groups of equal nodes and a network. A node has accelerators, the wire between them, a link from
// each of them to the host, and network cards; a host without accelerators has cards alone. A Port is one
// accelerator or the memory of one host. New compiles a Spec into a Graph. Graph.Links gives the links to a
// fabric; Graph.Route gives the path between two ports.
//
// # Networks
//
//   - flat: every card can send to every other at full rate.
//   - racks: the nodes of a rack share a switch, whose uplink carries the rate of all their cards divided by
//     the oversubscription.
//   - fat-tree: as racks, with an uplink to each of several spine switches. Traffic spreads evenly over the
//     spines, so the uplinks of a rack have together the rate of the one uplink of racks.
//   - rails: card i of every node of a rack is on switch i of the rack. Traffic to another rail goes through
//     the wire between the accelerators of the sending node, or through the spine.
//
// Groups can be in zones, which exchange traffic over links with a rate and latency of their own.
//
// # Collectives
//
// A Communicator is a set of accelerators. Its collectives return a Plan: stages, one after the other, each
// with a latency and then flows that move side by side. The transfers of a ring or tree move in step, at the
// rate of the slowest link, and are one flow over all links. In an all-to-all, the transfers between two
// classes of nodes at one distance are a flow. Graph.Alone is the time of a plan on idle links.
//
//	ring all-reduce      2(n−1)/n · bytes out of every member and, between nodes, out of every node
//	tree all-reduce      2 · bytes out of every node: two binary trees of nodes, half of the bytes each
//	hierarchical         reduce-scatter inside the nodes, ring between them, all-gather inside the nodes
//	reduce-scatter, all-gather                (n−1)/n · bytes along a ring
//	pairwise all-to-all  bytes/n to every other member
//	hierarchical         all-to-all inside the nodes, then between members of the same rank in their nodes
//
// If a Pricing names no algorithm, a collective takes the fastest of its algorithms and protocols, as NCCL
// does. A flow takes capacity for its bytes divided by the share of the rate that messages of its size reach:
// a wire that works at a share is as busy as a full one.
//
// Sources: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005); Sanders, Speck, Träff, Parallel Computing 35 (2009)
// for the two trees; NVIDIA nccl-tests, PERFORMANCE.md, for the bytes; NVIDIA/nccl, src/graph/tuning.cc, for
// the latencies of Protocols.
//
// # Folding
//
// The graph of a Spec with Fold has the links of one node for each class of equal nodes, and of one rack for
// each class of equal racks: the nodes of a group, apart from a last node that is not full and from a last
// rack that is not full. A flow over these links stands for the same flow on each of the others, and prices
// take the same time for 16 accelerators and for 16,384.
//
// The fold is exact while all nodes of a class do the same at the same time. That holds for collectives over
// all accelerators of a class or inside one node, also side by side, if every node takes part in the same
// ones. It does not hold under jitter, for faults and slow nodes, or for a communicator that leaves out some
// nodes of a class: Graph.Communicator refuses that one.
package topo

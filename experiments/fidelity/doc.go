// Package fidelity has the experiments on whether to believe the others:
//
//	simvsreal     predictions beside measurements of the same job on this machine
//	peers         the simulated network beside SimGrid
//	generators    models on generated data beside their published AUC on the data set that it stands for
//
// Its own test compares the simulator with itself: whether bottlenecks are named rightly, and whether
// intervals contain the truth.
package fidelity

// Package fidelity has the experiments on whether to believe the others:
//
//	disturbed     predictions beside trainings on this machine with late messages and with slow roles
//	links         predictions beside trainings over links that are slow for real
//	peers         the simulated network beside SimGrid
//	generators    models on generated data beside their published AUC on the data set that it stands for
//
// Its own test compares the simulator with itself: whether bottlenecks are named rightly, and whether
// intervals contain the truth.
package fidelity

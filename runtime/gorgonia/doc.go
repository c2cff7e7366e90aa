// Package gorgonia runs a dense network that a user writes as a Gorgonia graph, and computes its gradients by
// automatic differentiation. The tests of the built-in networks use it as an independent implementation.
//
// It is meant for new and small models: a graph allocates all its values for every group of samples
// (BenchmarkEngines measures the cost). No command of this repository links it; docs/model.md shows a program
// that does.
//
// Source: gorgonia.org/gorgonia v0.9.18. On Go 1.26 it needs the version of
// go4.org/unsafe/assume-no-moving-gc that go.mod names, or panics at start.
//
// Linking Gorgonia doubles the time of a cold build, so a network as a graph needs a program of the user's
// own.
package gorgonia

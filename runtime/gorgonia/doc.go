// Package gorgonia runs a dense network that a user writes as a Gorgonia graph,
// whatever the graph: the gradients follow from it. It is an independent check of
// the built-in networks as well, which know nothing of it.
//
// It is for models that do not exist yet, and for small ones: a graph allocates
// all its values anew for every group of samples (BenchmarkEngines tells what that
// costs). Only programs that want it link it: no command of this
// repository does.
//
// Source: gorgonia.org/gorgonia v0.9.18. On Go 1.26 it needs the version of
// go4.org/unsafe/assume-no-moving-gc that go.mod names, or panics at start.
package gorgonia

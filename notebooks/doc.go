// Package notebooks holds Jupyter notebooks with their outputs: three in Go, for the gonb kernel, and one in
// Python that reads the files of an experiment. They call public packages and contain no algorithms.
//
// The package has no code except its tests, which run every notebook and compare what it prints with what is
// stored, so that a change of the code that breaks a notebook, or makes it tell an old truth, fails. No test
// needs Jupyter: without it, the cells of a Go notebook become an ordinary program, whose outputs are the
// stored ones, and those of the Python notebook a script. After such a change, store the new outputs and read
// them; the Python notebook is then run in Jupyter:
//
//	go test ./notebooks -rewrite
//
// A stand-in for the display package of gonb has what the cells use, and no more.
package notebooks

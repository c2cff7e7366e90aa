// Package notebooks holds the Jupyter notebooks, which are written in Go for the gonb kernel. They call
// public packages and read result files; they contain no algorithms.
//
// The package has no code except its test, which builds and runs every notebook as an ordinary program, so
// that an API change that breaks a notebook fails the build.
package notebooks

// Package notebooks keeps the Jupyter notebooks, written in Go for the gonb
// kernel. They call public packages and read result files; they hold no
// algorithm of their own.
//
// The package has no code beside its test, which builds and runs every
// notebook as an ordinary program, so that a change of an API that breaks one
// is seen at once.
package notebooks

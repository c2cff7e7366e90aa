package main

// published is a throughput of Persia in hybrid mode on Criteo, in samples a
// second.
type published struct {
	gpus       int
	throughput float64
}

// digitised returns Persia's bars for Criteo-Ad in hybrid mode, read off the
// pixels of a figure to about ±200 samples/s; no such numbers are printed
// anywhere.
//
// Source: the benchmark page of Persia's tutorials before 18 November 2021,
// throughput by number of GPUs.
func digitised() []published {
	return []published{{1, 25_800}, {2, 51_600}, {4, 88_800}, {8, 162_800}}
}

// aloneDigitised is the bar of one GPU without dense communication, of the same
// figure.
const aloneDigitised = 67_600

// Package isa selects the vector instructions that the kernels of this process use: those that the processor
// and the system support, without those that GODEBUG disables.
//
// A package with kernels chooses its functions once, by Best, when it is initialized.
// The tests of a kernel run over Sets.
package isa

import "golang.org/x/sys/cpu"

// Set is a set of vector instructions. A larger Set contains the smaller ones.
type Set uint8

const (
	// Portable is compiled Go without vector instructions.
	Portable Set = iota
	// AVX2 is AVX2 with fused multiply-add and the conversions of half precision
	// (F16C, which every processor with AVX2 has): eight float32 at once.
	AVX2
	// AVX512 is AVX-512 with its byte, word, double-word and short-vector forms
	// (F, BW, DQ, VL): sixteen float32 at once.
	AVX512
)

// String returns the name that reports show.
func (s Set) String() string { return [...]string{"portable Go", "AVX2", "AVX-512"}[s] }

// best is set before any kernel runs.
var best = detect()

func detect() Set {
	x := &cpu.X86
	switch {
	case !(x.HasAVX2 && x.HasFMA):
		return Portable
	case !(x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL):
		return AVX2
	}
	return AVX512
}

// Best returns the largest set that this process may use. Running with
// GODEBUG=cpu.avx512f=off or GODEBUG=cpu.avx2=off makes it smaller.
func Best() Set { return best }

// Sets returns all sets up to Best, Portable first.
func Sets() []Set { return []Set{Portable, AVX2, AVX512}[:best+1] }

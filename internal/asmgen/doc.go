// Command asmgen writes the generated assembly of the module, with the Go
// declarations that belong to it:
//
//	go generate ./internal/asmgen
//
// Generated files end in _gen.s and _gen.go; a test compares the committed files with
// what the command writes. There are three kinds of source, one description of the
// instruction sets (set), and one list of files (outputs):
//
//   - Loops over elements and rows are programs of a few instructions without registers
//     or addresses (loop), such as "load x x; mul x alpha x". The generator writes each
//     for AVX2 and AVX-512, with masks for the last columns, and a table of Go function
//     values for each set.
//   - The tiles of the matrix products, which differ in their numbers of rows and
//     columns, are written instruction by instruction by Go functions (tile.go, pack.go).
//   - The kernels of embedding rows and of their gradients, of which there is one form for
//     each set, precision or number of columns, are templates of assembly text (*.s.tmpl).
//
// # Why not avo
//
// The loops were also written with avo v0.6.0 (github.com/mmcloughlin/avo). It expresses
// the masked instructions of AVX-512 and gives the same 3,096 instructions in the same
// 60 functions. Its generator has 340 lines where loop.go has 371, since the programs
// and the loop around them remain. Avo allocates registers and checks operands, which
// here are a counter and the assembler.
//
// Against it: a second kind of source would remain. The kernels of rows take constants
// and field offsets of unexported Go types from go_asm.h, which the operands of avo
// cannot name. The module (16 MB, with golang.org/x/tools) would be in go.mod for one
// tool, and with the version of x/tools that it asks for it does not compile with Go 1.26.
//
// # Assembly written by hand
//
// A kernel whose forms share no structure gains nothing from a generator:
// algo/numeric/kernel/vec/segments_amd64.s (sums of segments of any length, two forms),
// algo/numeric/kernel/vec/bf16_amd64.s (one form, one loop), and
// runtime/blas/mixed_amd64.s (one call in the C calling convention).
package main

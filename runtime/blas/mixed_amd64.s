//go:build !static && (linux || darwin)

#include "textflag.h"
#include "go_asm.h"

GLOBL ·mixed(SB), NOPTR, $8
DATA ·mixed(SB)/8, $·mixedCall(SB)

// mixedCall, in the C calling convention of System V: DI is the *dnnlCall.
//
// Of the C function's arguments the first six integers and pointers go to DI,
// SI, DX, CX, R8 and R9, the floats to X0 and X1, and the other five to the
// stack, upwards from SP. The frame is a multiple of 16 bytes: with the return
// address and BP, which the assembler saves, the stack is aligned as C wants.
// Registers that a C function must keep are not touched.
TEXT ·mixedCall(SB), NOSPLIT, $48-0
	MOVQ DI, 40(SP)
	MOVQ DI, R11

	MOVSS dnnlCall_alpha(R11), X0
	MOVSS dnnlCall_beta(R11), X1

	MOVQ dnnlCall_lda(R11), R10
	MOVQ R10, 0(SP)
	MOVQ dnnlCall_b(R11), R10
	MOVQ R10, 8(SP)
	MOVQ dnnlCall_ldb(R11), R10
	MOVQ R10, 16(SP)
	MOVQ dnnlCall_c(R11), R10
	MOVQ R10, 24(SP)
	MOVQ dnnlCall_ldc(R11), R10
	MOVQ R10, 32(SP)

	MOVQ dnnlCall_transA(R11), DI
	MOVQ dnnlCall_transB(R11), SI
	MOVQ dnnlCall_m(R11), DX
	MOVQ dnnlCall_n(R11), CX
	MOVQ dnnlCall_k(R11), R8
	MOVQ dnnlCall_a(R11), R9

	MOVQ dnnlCall_function(R11), R10
	CALL R10

	MOVQ 40(SP), R11
	MOVL AX, dnnlCall_status(R11)
	RET

#include "textflag.h"

// Registers of both forms:
//
//	DI  the sum in hand      R11 bytes from sum to sum
//	SI  src                  R12 bytes of a unit
//	R8  at                   R13 the last position in at, which bounds fetching ahead
//	R9  the end before       R10 the end of the segment
//	CX  segments to do       DX  its first position
//	BX  bytes of its columns that are done, R15 columns to do
//	R14 a position, AX the address of a vector
//
// A segment is summed in blocks of four registers, then of one, then a part of one.
// While a vector is added, the one eight positions on is fetched.

// func sumSegmentsAVX512(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim
// int, start float32)
TEXT ·sumSegmentsAVX512(SB), NOSPLIT, $0-124
	MOVQ dst_base+0(FP), DI
	MOVQ stride+24(FP), R11
	MOVQ src_base+32(FP), SI
	MOVQ unit+56(FP), R12
	MOVQ at_base+64(FP), R8
	MOVQ ends_base+88(FP), R9
	MOVQ ends_len+96(FP), CX
	DECQ CX
	VBROADCASTSS start+120(FP), Z7
	SHLQ $2, R11
	SHLQ $2, R12
	MOVLQSX (R9)(CX*4), R13
	DECQ R13 // the last position
	MOVLQSX (R9), DX
	MOVQ dim+112(FP), AX
	ANDQ $15, AX
	MOVQ $1, BX
	SHLXQ AX, BX, BX
	DECQ BX
	KMOVW BX, K1 // columns of the rest
segment:
	MOVLQSX 4(R9), R10
	ADDQ $4, R9
	MOVQ dim+112(FP), R15
	XORQ BX, BX
blocks:
	CMPQ R15, $64
	JLT  vectors

	VMOVAPS Z7, Z0
	VMOVAPS Z7, Z1
	VMOVAPS Z7, Z2
	VMOVAPS Z7, Z3
	MOVQ DX, R14
	JMP  fourTest
four:
	LEAQ 8(R14), AX
	CMPQ AX, R13
	CMOVQGT R13, AX
	MOVLQSX (R8)(AX*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	PREFETCHT0 (AX)(BX*1)
	PREFETCHT0 64(AX)(BX*1)
	PREFETCHT0 128(AX)(BX*1)
	PREFETCHT0 192(AX)(BX*1)
	MOVLQSX (R8)(R14*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	VADDPS (AX)(BX*1), Z0, Z0
	VADDPS 64(AX)(BX*1), Z1, Z1
	VADDPS 128(AX)(BX*1), Z2, Z2
	VADDPS 192(AX)(BX*1), Z3, Z3
	INCQ R14
fourTest:
	CMPQ R14, R10
	JLT  four
	VMOVUPS Z0, (DI)(BX*1)
	VMOVUPS Z1, 64(DI)(BX*1)
	VMOVUPS Z2, 128(DI)(BX*1)
	VMOVUPS Z3, 192(DI)(BX*1)
	ADDQ $256, BX
	SUBQ $64, R15
	JMP  blocks
vectors:
	CMPQ R15, $16
	JLT  rest
	VMOVAPS Z7, Z0
	MOVQ DX, R14
	JMP  oneTest
one:
	LEAQ 8(R14), AX
	CMPQ AX, R13
	CMOVQGT R13, AX
	MOVLQSX (R8)(AX*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	PREFETCHT0 (AX)(BX*1)
	MOVLQSX (R8)(R14*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	VADDPS (AX)(BX*1), Z0, Z0
	INCQ R14
oneTest:
	CMPQ R14, R10
	JLT  one
	VMOVUPS Z0, (DI)(BX*1)
	ADDQ $64, BX
	SUBQ $16, R15
	JMP  vectors
rest:
	TESTQ R15, R15
	JZ   next
	VMOVAPS Z7, Z0
	MOVQ DX, R14
	JMP  partTest
part:
	LEAQ 8(R14), AX
	CMPQ AX, R13
	CMOVQGT R13, AX
	MOVLQSX (R8)(AX*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	PREFETCHT0 (AX)(BX*1)
	MOVLQSX (R8)(R14*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	VMOVUPS.Z (AX)(BX*1), K1, Z1
	VADDPS Z1, Z0, Z0
	INCQ R14
partTest:
	CMPQ R14, R10
	JLT  part
	VMOVUPS Z0, K1, (DI)(BX*1)
next:
	MOVQ R10, DX
	ADDQ R11, DI
	DECQ CX
	JNZ  segment
	VZEROUPPER
	RET

// Eight lanes on, eight off: read r lanes before the middle, it is a mask of r.
DATA lanes<>+0(SB)/8, $-1
DATA lanes<>+8(SB)/8, $-1
DATA lanes<>+16(SB)/8, $-1
DATA lanes<>+24(SB)/8, $-1
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// func sumSegmentsAVX2(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim
// int, start float32)
TEXT ·sumSegmentsAVX2(SB), NOSPLIT, $0-124
	MOVQ dst_base+0(FP), DI
	MOVQ stride+24(FP), R11
	MOVQ src_base+32(FP), SI
	MOVQ unit+56(FP), R12
	MOVQ at_base+64(FP), R8
	MOVQ ends_base+88(FP), R9
	MOVQ ends_len+96(FP), CX
	DECQ CX
	VBROADCASTSS start+120(FP), Y7
	SHLQ $2, R11
	SHLQ $2, R12
	MOVLQSX (R9)(CX*4), R13
	DECQ R13 // the last position
	MOVLQSX (R9), DX
	MOVQ dim+112(FP), AX
	ANDQ $7, AX
	NEGQ AX
	LEAQ lanes<>+32(SB), BX
	VMOVDQU (BX)(AX*4), Y6 // columns of the rest
segment:
	MOVLQSX 4(R9), R10
	ADDQ $4, R9
	MOVQ dim+112(FP), R15
	XORQ BX, BX
blocks:
	CMPQ R15, $32
	JLT  vectors

	VMOVAPS Y7, Y0
	VMOVAPS Y7, Y1
	VMOVAPS Y7, Y2
	VMOVAPS Y7, Y3
	MOVQ DX, R14
	JMP  fourTest
four:
	LEAQ 8(R14), AX
	CMPQ AX, R13
	CMOVQGT R13, AX
	MOVLQSX (R8)(AX*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	PREFETCHT0 (AX)(BX*1)
	PREFETCHT0 64(AX)(BX*1)
	MOVLQSX (R8)(R14*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	VADDPS (AX)(BX*1), Y0, Y0
	VADDPS 32(AX)(BX*1), Y1, Y1
	VADDPS 64(AX)(BX*1), Y2, Y2
	VADDPS 96(AX)(BX*1), Y3, Y3
	INCQ R14
fourTest:
	CMPQ R14, R10
	JLT  four
	VMOVUPS Y0, (DI)(BX*1)
	VMOVUPS Y1, 32(DI)(BX*1)
	VMOVUPS Y2, 64(DI)(BX*1)
	VMOVUPS Y3, 96(DI)(BX*1)
	ADDQ $128, BX
	SUBQ $32, R15
	JMP  blocks
vectors:
	CMPQ R15, $8
	JLT  rest
	VMOVAPS Y7, Y0
	MOVQ DX, R14
	JMP  oneTest
one:
	LEAQ 8(R14), AX
	CMPQ AX, R13
	CMOVQGT R13, AX
	MOVLQSX (R8)(AX*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	PREFETCHT0 (AX)(BX*1)
	MOVLQSX (R8)(R14*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	VADDPS (AX)(BX*1), Y0, Y0
	INCQ R14
oneTest:
	CMPQ R14, R10
	JLT  one
	VMOVUPS Y0, (DI)(BX*1)
	ADDQ $32, BX
	SUBQ $8, R15
	JMP  vectors
rest:
	TESTQ R15, R15
	JZ   next
	VMOVAPS Y7, Y0
	MOVQ DX, R14
	JMP  partTest
part:
	LEAQ 8(R14), AX
	CMPQ AX, R13
	CMOVQGT R13, AX
	MOVLQSX (R8)(AX*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	PREFETCHT0 (AX)(BX*1)
	MOVLQSX (R8)(R14*4), AX
	IMULQ R12, AX
	ADDQ SI, AX
	VMASKMOVPS (AX)(BX*1), Y6, Y1
	VADDPS Y1, Y0, Y0
	INCQ R14
partTest:
	CMPQ R14, R10
	JLT  part
	VMASKMOVPS Y0, Y6, (DI)(BX*1)
next:
	MOVQ R10, DX
	ADDQ R11, DI
	DECQ CX
	JNZ  segment
	VZEROUPPER
	RET

// Code generated from testdata/bare_amd64.s.tmpl by algo/numeric/isa/generate. DO NOT EDIT.

#include "textflag.h"

// Registers of all functions here:
//
//	DI      the values outside, as far as they are done
//	SI, DX  the place in hand, and the end of places
//	R8, R9  rows, bytes of a row
//	R10     bytes of a row that are asked for
//	R11     4·dim
//	BX, CX  the row in hand, and its bytes that are left

// How many rows ahead memory is asked.
#define AHEAD 16

// ASK asks for the row that is AHEAD places away, if there is one; R12 and R13 are
// scratch.
#define ASK \
	LEAQ (4*AHEAD)(SI), R12 \
	CMPQ R12, DX \
	JAE  asked \
	MOVL (R12), R12 \
	IMULQ R9, R12 \
	ADDQ R8, R12 \
	LEAQ (R12)(R10*1), R13 \
ask: \
	PREFETCHT0 (R12) \
	ADDQ $64, R12 \
	CMPQ R12, R13 \
	JB   ask \
asked: \
	MOVL (SI), BX \
	IMULQ R9, BX \
	ADDQ R8, BX \
	MOVQ R11, CX

// func gatherAVX512(dst, rows *float32, places *int32, n, dim int)
TEXT ·gatherAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ rows+8(FP), R8
	MOVQ places+16(FP), SI
	MOVQ n+24(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dim+32(FP), R11
	SHLQ $2, R11
	LEAQ (R11)(R11*1), R9
	MOVQ R11, R10
next:
	ASK
piece:
	VMOVUPS (BX), Z0
	VMOVUPS Z0, (DI)
	ADDQ $(4*16), BX
	ADDQ $(4*16), DI
	SUBQ $(4*16), CX
	JNZ  piece
	ADDQ $4, SI
	CMPQ SI, DX
	JB   next
	VZEROUPPER
	RET

// func adagradAVX512(grads, rows *float32, places *int32, n, dim int, rate, epsilon float32)
TEXT ·adagradAVX512(SB), NOSPLIT, $0-48
	MOVQ grads+0(FP), DI
	MOVQ rows+8(FP), R8
	MOVQ places+16(FP), SI
	MOVQ n+24(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dim+32(FP), R11
	SHLQ $2, R11
	LEAQ (R11)(R11*1), R9
	MOVQ R9, R10
	VBROADCASTSS rate+40(FP), Z8
	VBROADCASTSS epsilon+44(FP), Z9
next:
	ASK
piece:
	VMOVUPS (DI), Z0
	VMOVUPS (BX)(R11*1), Z1
	VADDPS  Z9, Z1, Z2
	VSQRTPS Z2, Z2
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z2, Z3, Z3
	VMOVUPS (BX), Z4
	VSUBPS  Z3, Z4, Z4
	VMOVUPS Z4, (BX)
	VMULPS  Z0, Z0, Z0
	VADDPS  Z0, Z1, Z1
	VMOVUPS Z1, (BX)(R11*1)
	ADDQ $(4*16), BX
	ADDQ $(4*16), DI
	SUBQ $(4*16), CX
	JNZ  piece
	ADDQ $4, SI
	CMPQ SI, DX
	JB   next
	VZEROUPPER
	RET

// func gatherAVX2(dst, rows *float32, places *int32, n, dim int)
TEXT ·gatherAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ rows+8(FP), R8
	MOVQ places+16(FP), SI
	MOVQ n+24(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dim+32(FP), R11
	SHLQ $2, R11
	LEAQ (R11)(R11*1), R9
	MOVQ R11, R10
next:
	ASK
piece:
	VMOVUPS (BX), Y0
	VMOVUPS Y0, (DI)
	ADDQ $(4*8), BX
	ADDQ $(4*8), DI
	SUBQ $(4*8), CX
	JNZ  piece
	ADDQ $4, SI
	CMPQ SI, DX
	JB   next
	VZEROUPPER
	RET

// func adagradAVX2(grads, rows *float32, places *int32, n, dim int, rate, epsilon float32)
TEXT ·adagradAVX2(SB), NOSPLIT, $0-48
	MOVQ grads+0(FP), DI
	MOVQ rows+8(FP), R8
	MOVQ places+16(FP), SI
	MOVQ n+24(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dim+32(FP), R11
	SHLQ $2, R11
	LEAQ (R11)(R11*1), R9
	MOVQ R9, R10
	VBROADCASTSS rate+40(FP), Y8
	VBROADCASTSS epsilon+44(FP), Y9
next:
	ASK
piece:
	VMOVUPS (DI), Y0
	VMOVUPS (BX)(R11*1), Y1
	VADDPS  Y9, Y1, Y2
	VSQRTPS Y2, Y2
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y2, Y3, Y3
	VMOVUPS (BX), Y4
	VSUBPS  Y3, Y4, Y4
	VMOVUPS Y4, (BX)
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y1, Y1
	VMOVUPS Y1, (BX)(R11*1)
	ADDQ $(4*8), BX
	ADDQ $(4*8), DI
	SUBQ $(4*8), CX
	JNZ  piece
	ADDQ $4, SI
	CMPQ SI, DX
	JB   next
	VZEROUPPER
	RET

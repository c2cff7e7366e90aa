// Code generated from testdata/row_amd64.s.tmpl by algo/isa/generate. DO NOT EDIT.

#include "textflag.h"

// Registers of all functions here:
//
//	DI, SI, DX  values, state and gradient of a row, as far as they are done
//	CX          values that are left, less those of a whole register
//	R0 to R7    scratch
//	R8          rate, in all lanes as those below
//	R9          epsilon, or the divisor of descend
//	R10, R11    the bound of the values, and its negative

// Ones and zeros: from 32−4·n on, a mask of n values.
DATA ends<>+0(SB)/8, $-1
DATA ends<>+8(SB)/8, $-1
DATA ends<>+16(SB)/8, $-1
DATA ends<>+24(SB)/8, $-1
GLOBL ends<>(SB), RODATA|NOPTR, $64

// func adagradBeforeAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool
TEXT ·adagradBeforeAVX512(SB), NOSPLIT, $0-49
	MOVQ values+0(FP), DI
	MOVQ state+8(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSS rate+32(FP), Z8
	VBROADCASTSS divisor+36(FP), Z9
	VBROADCASTSS limit+40(FP), Z10
	VPXOR   X11, X11, X11
	VSUBPS  Z10, Z11, Z11
	// First look whether all of the gradient is finite, and change nothing.
	MOVQ grad+16(FP), DX
	SUBQ $16, CX
	JLT  checkRest
check:
	VMOVUPS  (DX), Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
	ADDQ $(4*16), DX
	SUBQ $16, CX
	JGE  check
checkRest:
	ADDQ $16, CX
	JZ   checked
	// The mask of the last CX values.
	MOVL  $1, R8
	SHLL  CX, R8
	DECL  R8
	KMOVW R8, K1
	VMOVUPS.Z  (DX), K1, Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
checked:
	MOVQ grad+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $16, CX
	JLT  rest
whole:
	VMOVUPS (DX), Z0
	VMOVUPS (SI), Z1
	VMOVUPS (DI), Z4
	VADDPS  Z9, Z1, Z2
	VSQRTPS Z2, Z2
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z2, Z3, Z3
	VSUBPS  Z3, Z4, Z4
	VMULPS  Z0, Z0, Z0
	VADDPS  Z0, Z1, Z1
	VMOVUPS Z1, (SI)
	// A NaN is the second of both operands and stays.
	VMAXPS Z4, Z11, Z4
	VMINPS Z4, Z10, Z4
	VMOVUPS Z4, (DI)
	ADDQ $(4*16), DI
	ADDQ $(4*16), SI
	ADDQ $(4*16), DX
	SUBQ $16, CX
	JGE  whole
rest:
	ADDQ $16, CX
	JZ   done
	VMOVUPS.Z (DX), K1, Z0
	VMOVUPS.Z (SI), K1, Z1
	VMOVUPS.Z (DI), K1, Z4
	VADDPS  Z9, Z1, Z2
	VSQRTPS Z2, Z2
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z2, Z3, Z3
	VSUBPS  Z3, Z4, Z4
	VMULPS  Z0, Z0, Z0
	VADDPS  Z0, Z1, Z1
	VMOVUPS Z1, K1, (SI)
	// A NaN is the second of both operands and stays.
	VMAXPS Z4, Z11, Z4
	VMINPS Z4, Z10, Z4
	VMOVUPS Z4, K1, (DI)
done:
	VZEROUPPER
	MOVB $1, ret+48(FP)
	RET
refuse:
	VZEROUPPER
	MOVB $0, ret+48(FP)
	RET

// func adagradAfterAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool
TEXT ·adagradAfterAVX512(SB), NOSPLIT, $0-49
	MOVQ values+0(FP), DI
	MOVQ state+8(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSS rate+32(FP), Z8
	VBROADCASTSS divisor+36(FP), Z9
	VBROADCASTSS limit+40(FP), Z10
	VPXOR   X11, X11, X11
	VSUBPS  Z10, Z11, Z11
	// First look whether all of the gradient is finite, and change nothing.
	MOVQ grad+16(FP), DX
	SUBQ $16, CX
	JLT  checkRest
check:
	VMOVUPS  (DX), Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
	ADDQ $(4*16), DX
	SUBQ $16, CX
	JGE  check
checkRest:
	ADDQ $16, CX
	JZ   checked
	// The mask of the last CX values.
	MOVL  $1, R8
	SHLL  CX, R8
	DECL  R8
	KMOVW R8, K1
	VMOVUPS.Z  (DX), K1, Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
checked:
	MOVQ grad+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $16, CX
	JLT  rest
whole:
	VMOVUPS (DX), Z0
	VMOVUPS (SI), Z1
	VMOVUPS (DI), Z4
	VMULPS  Z0, Z0, Z2
	VADDPS  Z2, Z1, Z1
	VMOVUPS Z1, (SI)
	VSQRTPS Z1, Z1
	VADDPS  Z9, Z1, Z1
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z1, Z3, Z3
	VSUBPS  Z3, Z4, Z4
	// A NaN is the second of both operands and stays.
	VMAXPS Z4, Z11, Z4
	VMINPS Z4, Z10, Z4
	VMOVUPS Z4, (DI)
	ADDQ $(4*16), DI
	ADDQ $(4*16), SI
	ADDQ $(4*16), DX
	SUBQ $16, CX
	JGE  whole
rest:
	ADDQ $16, CX
	JZ   done
	VMOVUPS.Z (DX), K1, Z0
	VMOVUPS.Z (SI), K1, Z1
	VMOVUPS.Z (DI), K1, Z4
	VMULPS  Z0, Z0, Z2
	VADDPS  Z2, Z1, Z1
	VMOVUPS Z1, K1, (SI)
	VSQRTPS Z1, Z1
	VADDPS  Z9, Z1, Z1
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z1, Z3, Z3
	VSUBPS  Z3, Z4, Z4
	// A NaN is the second of both operands and stays.
	VMAXPS Z4, Z11, Z4
	VMINPS Z4, Z10, Z4
	VMOVUPS Z4, K1, (DI)
done:
	VZEROUPPER
	MOVB $1, ret+48(FP)
	RET
refuse:
	VZEROUPPER
	MOVB $0, ret+48(FP)
	RET

// func descendAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool
//
// State is not read.
TEXT ·descendAVX512(SB), NOSPLIT, $0-49
	MOVQ values+0(FP), DI
	MOVQ state+8(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSS rate+32(FP), Z8
	VBROADCASTSS divisor+36(FP), Z9
	VBROADCASTSS limit+40(FP), Z10
	VPXOR   X11, X11, X11
	VSUBPS  Z10, Z11, Z11
	// First look whether all of the gradient is finite, and change nothing.
	MOVQ grad+16(FP), DX
	SUBQ $16, CX
	JLT  checkRest
check:
	VMOVUPS  (DX), Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
	ADDQ $(4*16), DX
	SUBQ $16, CX
	JGE  check
checkRest:
	ADDQ $16, CX
	JZ   checked
	// The mask of the last CX values.
	MOVL  $1, R8
	SHLL  CX, R8
	DECL  R8
	KMOVW R8, K1
	VMOVUPS.Z  (DX), K1, Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
checked:
	MOVQ grad+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $16, CX
	JLT  rest
whole:
	VMOVUPS (DX), Z0
	VMOVUPS (DI), Z4
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z9, Z3, Z3
	VSUBPS  Z3, Z4, Z4
	// A NaN is the second of both operands and stays.
	VMAXPS Z4, Z11, Z4
	VMINPS Z4, Z10, Z4
	VMOVUPS Z4, (DI)
	ADDQ $(4*16), DI
	ADDQ $(4*16), SI
	ADDQ $(4*16), DX
	SUBQ $16, CX
	JGE  whole
rest:
	ADDQ $16, CX
	JZ   done
	VMOVUPS.Z (DX), K1, Z0
	VMOVUPS.Z (DI), K1, Z4
	VMULPS  Z0, Z8, Z3
	VDIVPS  Z9, Z3, Z3
	VSUBPS  Z3, Z4, Z4
	// A NaN is the second of both operands and stays.
	VMAXPS Z4, Z11, Z4
	VMINPS Z4, Z10, Z4
	VMOVUPS Z4, K1, (DI)
done:
	VZEROUPPER
	MOVB $1, ret+48(FP)
	RET
refuse:
	VZEROUPPER
	MOVB $0, ret+48(FP)
	RET

// func squaresAVX512(grad *float32, n int) float32
//
// Z1 is the sixteen sums.
TEXT ·squaresAVX512(SB), NOSPLIT, $0-20
	MOVQ grad+0(FP), DX
	MOVQ n+8(FP), CX
	VPXOR X1, X1, X1
	SUBQ $16, CX
	JLT  rest
whole:
	VMOVUPS (DX), Z0
	VMULPS  Z0, Z0, Z0
	VADDPS  Z0, Z1, Z1
	ADDQ $64, DX
	SUBQ $16, CX
	JGE  whole
rest:
	ADDQ $16, CX
	JZ   fold
	// The mask of the last CX values.
	MOVL  $1, R8
	SHLL  CX, R8
	DECL  R8
	KMOVW R8, K1
	VMOVUPS.Z (DX), K1, Z0
	VMULPS  Z0, Z0, Z0
	VADDPS  Z0, Z1, Z1
fold:
	VEXTRACTF64X4 $1, Z1, Y2
	VADDPS  Y2, Y1, Y1
	VEXTRACTF128 $1, Y1, X2
	VADDPS  X2, X1, X1
	VMOVHLPS X1, X1, X2
	VADDPS  X2, X1, X1
	VMOVSHDUP X1, X2
	VADDSS  X2, X1, X1
	VMOVSS  X1, ret+16(FP)
	VZEROUPPER
	RET

// func adagradBeforeAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool
TEXT ·adagradBeforeAVX2(SB), NOSPLIT, $0-49
	MOVQ values+0(FP), DI
	MOVQ state+8(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSS rate+32(FP), Y8
	VBROADCASTSS divisor+36(FP), Y9
	VBROADCASTSS limit+40(FP), Y10
	VPXOR   X11, X11, X11
	VSUBPS  Y10, Y11, Y11
	// First look whether all of the gradient is finite, and change nothing.
	MOVQ grad+16(FP), DX
	SUBQ $8, CX
	JLT  checkRest
check:
	VMOVUPS  (DX), Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
	ADDQ $(4*8), DX
	SUBQ $8, CX
	JGE  check
checkRest:
	ADDQ $8, CX
	JZ   checked
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R8
	SHLQ  $2, CX
	SUBQ  CX, R8
	VMOVDQU 32(R8), Y15
	VMASKMOVPS  (DX), Y15, Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
checked:
	MOVQ grad+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $8, CX
	JLT  rest
whole:
	VMOVUPS (DX), Y0
	VMOVUPS (SI), Y1
	VMOVUPS (DI), Y4
	VADDPS  Y9, Y1, Y2
	VSQRTPS Y2, Y2
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y2, Y3, Y3
	VSUBPS  Y3, Y4, Y4
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y1, Y1
	VMOVUPS Y1, (SI)
	// A NaN is the second of both operands and stays.
	VMAXPS Y4, Y11, Y4
	VMINPS Y4, Y10, Y4
	VMOVUPS Y4, (DI)
	ADDQ $(4*8), DI
	ADDQ $(4*8), SI
	ADDQ $(4*8), DX
	SUBQ $8, CX
	JGE  whole
rest:
	ADDQ $8, CX
	JZ   done
	VMASKMOVPS (DX), Y15, Y0
	VMASKMOVPS (SI), Y15, Y1
	VMASKMOVPS (DI), Y15, Y4
	VADDPS  Y9, Y1, Y2
	VSQRTPS Y2, Y2
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y2, Y3, Y3
	VSUBPS  Y3, Y4, Y4
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y1, Y1
	VMASKMOVPS Y1, Y15, (SI)
	// A NaN is the second of both operands and stays.
	VMAXPS Y4, Y11, Y4
	VMINPS Y4, Y10, Y4
	VMASKMOVPS Y4, Y15, (DI)
done:
	VZEROUPPER
	MOVB $1, ret+48(FP)
	RET
refuse:
	VZEROUPPER
	MOVB $0, ret+48(FP)
	RET

// func adagradAfterAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool
TEXT ·adagradAfterAVX2(SB), NOSPLIT, $0-49
	MOVQ values+0(FP), DI
	MOVQ state+8(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSS rate+32(FP), Y8
	VBROADCASTSS divisor+36(FP), Y9
	VBROADCASTSS limit+40(FP), Y10
	VPXOR   X11, X11, X11
	VSUBPS  Y10, Y11, Y11
	// First look whether all of the gradient is finite, and change nothing.
	MOVQ grad+16(FP), DX
	SUBQ $8, CX
	JLT  checkRest
check:
	VMOVUPS  (DX), Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
	ADDQ $(4*8), DX
	SUBQ $8, CX
	JGE  check
checkRest:
	ADDQ $8, CX
	JZ   checked
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R8
	SHLQ  $2, CX
	SUBQ  CX, R8
	VMOVDQU 32(R8), Y15
	VMASKMOVPS  (DX), Y15, Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
checked:
	MOVQ grad+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $8, CX
	JLT  rest
whole:
	VMOVUPS (DX), Y0
	VMOVUPS (SI), Y1
	VMOVUPS (DI), Y4
	VMULPS  Y0, Y0, Y2
	VADDPS  Y2, Y1, Y1
	VMOVUPS Y1, (SI)
	VSQRTPS Y1, Y1
	VADDPS  Y9, Y1, Y1
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y1, Y3, Y3
	VSUBPS  Y3, Y4, Y4
	// A NaN is the second of both operands and stays.
	VMAXPS Y4, Y11, Y4
	VMINPS Y4, Y10, Y4
	VMOVUPS Y4, (DI)
	ADDQ $(4*8), DI
	ADDQ $(4*8), SI
	ADDQ $(4*8), DX
	SUBQ $8, CX
	JGE  whole
rest:
	ADDQ $8, CX
	JZ   done
	VMASKMOVPS (DX), Y15, Y0
	VMASKMOVPS (SI), Y15, Y1
	VMASKMOVPS (DI), Y15, Y4
	VMULPS  Y0, Y0, Y2
	VADDPS  Y2, Y1, Y1
	VMASKMOVPS Y1, Y15, (SI)
	VSQRTPS Y1, Y1
	VADDPS  Y9, Y1, Y1
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y1, Y3, Y3
	VSUBPS  Y3, Y4, Y4
	// A NaN is the second of both operands and stays.
	VMAXPS Y4, Y11, Y4
	VMINPS Y4, Y10, Y4
	VMASKMOVPS Y4, Y15, (DI)
done:
	VZEROUPPER
	MOVB $1, ret+48(FP)
	RET
refuse:
	VZEROUPPER
	MOVB $0, ret+48(FP)
	RET

// func descendAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool
//
// State is not read.
TEXT ·descendAVX2(SB), NOSPLIT, $0-49
	MOVQ values+0(FP), DI
	MOVQ state+8(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSS rate+32(FP), Y8
	VBROADCASTSS divisor+36(FP), Y9
	VBROADCASTSS limit+40(FP), Y10
	VPXOR   X11, X11, X11
	VSUBPS  Y10, Y11, Y11
	// First look whether all of the gradient is finite, and change nothing.
	MOVQ grad+16(FP), DX
	SUBQ $8, CX
	JLT  checkRest
check:
	VMOVUPS  (DX), Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
	ADDQ $(4*8), DX
	SUBQ $8, CX
	JGE  check
checkRest:
	ADDQ $8, CX
	JZ   checked
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R8
	SHLQ  $2, CX
	SUBQ  CX, R8
	VMOVDQU 32(R8), Y15
	VMASKMOVPS  (DX), Y15, Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
checked:
	MOVQ grad+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $8, CX
	JLT  rest
whole:
	VMOVUPS (DX), Y0
	VMOVUPS (DI), Y4
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y9, Y3, Y3
	VSUBPS  Y3, Y4, Y4
	// A NaN is the second of both operands and stays.
	VMAXPS Y4, Y11, Y4
	VMINPS Y4, Y10, Y4
	VMOVUPS Y4, (DI)
	ADDQ $(4*8), DI
	ADDQ $(4*8), SI
	ADDQ $(4*8), DX
	SUBQ $8, CX
	JGE  whole
rest:
	ADDQ $8, CX
	JZ   done
	VMASKMOVPS (DX), Y15, Y0
	VMASKMOVPS (DI), Y15, Y4
	VMULPS  Y0, Y8, Y3
	VDIVPS  Y9, Y3, Y3
	VSUBPS  Y3, Y4, Y4
	// A NaN is the second of both operands and stays.
	VMAXPS Y4, Y11, Y4
	VMINPS Y4, Y10, Y4
	VMASKMOVPS Y4, Y15, (DI)
done:
	VZEROUPPER
	MOVB $1, ret+48(FP)
	RET
refuse:
	VZEROUPPER
	MOVB $0, ret+48(FP)
	RET

// func squaresAVX2(grad *float32, n int) float32
//
// Y1 and Y2 are the sixteen sums; of the last piece, the first eight values go to
// Y1, and what is left behind them to Y2.
TEXT ·squaresAVX2(SB), NOSPLIT, $0-20
	MOVQ grad+0(FP), DX
	MOVQ n+8(FP), CX
	VPXOR X1, X1, X1
	VPXOR X2, X2, X2
	SUBQ $16, CX
	JLT  rest
whole:
	VMOVUPS (DX), Y0
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y1, Y1
	VMOVUPS 32(DX), Y0
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y2, Y2
	ADDQ $64, DX
	SUBQ $16, CX
	JGE  whole
rest:
	ADDQ $16, CX
	JZ   fold
	CMPQ CX, $8
	JLT  below
	VMOVUPS (DX), Y0
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y1, Y1
	ADDQ $32, DX
	SUBQ $8, CX
	JZ   fold
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R8
	SHLQ  $2, CX
	SUBQ  CX, R8
	VMOVDQU 32(R8), Y15
	VMASKMOVPS (DX), Y15, Y0
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y2, Y2
	JMP  fold
below:
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R8
	SHLQ  $2, CX
	SUBQ  CX, R8
	VMOVDQU 32(R8), Y15
	VMASKMOVPS (DX), Y15, Y0
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y1, Y1
fold:
	VADDPS  Y2, Y1, Y1
	VEXTRACTF128 $1, Y1, X2
	VADDPS  X2, X1, X1
	VMOVHLPS X1, X1, X2
	VADDPS  X2, X1, X1
	VMOVSHDUP X1, X2
	VADDSS  X2, X1, X1
	VMOVSS  X1, ret+16(FP)
	VZEROUPPER
	RET

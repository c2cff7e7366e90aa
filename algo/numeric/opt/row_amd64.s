// Code generated from testdata/row_amd64.s.tmpl by algo/numeric/isa/generate. DO NOT EDIT.

#include "go_asm.h"
#include "textflag.h"

// Registers of all functions of batches:
//
//	AX          the batch
//	BX, R8      the place of the row in hand, and how many are left
//	R10, R11    its learning rate, and whether it was updated
//	R12, R13    what memory is to be asked for meanwhile, if R12 is not nil
//	DI, SI, DX  its values, state and gradient, as far as they are done
//	CX          values that are left, less those of a whole register
//	vectors     0 to 7 scratch, 8 the rate, 9 the divisor, 10 and 11 the limit
//	            and its negative, each in all lanes

// Ones and zeros: from 32−4·n on, a mask of n values.
DATA ends<>+0(SB)/8, $-1
DATA ends<>+8(SB)/8, $-1
DATA ends<>+16(SB)/8, $-1
DATA ends<>+24(SB)/8, $-1
GLOBL ends<>(SB), RODATA|NOPTR, $64

// func adagradBeforeAVX512(b *batch)
TEXT ·adagradBeforeAVX512(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), AX
	MOVQ batch_places(AX), BX
	MOVQ batch_n(AX), R8
	MOVQ batch_grads(AX), DX
	MOVQ batch_rates(AX), R10
	MOVQ batch_done(AX), R11
	MOVQ batch_next(AX), R12
	MOVQ batch_groups(AX), R13
	VBROADCASTSS batch_divisor(AX), Z9
	VBROADCASTSS batch_limit(AX), Z10
	VPXOR   X11, X11, X11
	VSUBPS  Z10, Z11, Z11
	MOVQ batch_dim(AX), CX
	ANDQ $15, CX
	// The mask of the last CX values.
	MOVL  $1, R9
	SHLL  CX, R9
	DECL  R9
	KMOVW R9, K1
row:
	TESTQ R12, R12
	JZ   asked
	MOVQ (R13), R9
	PREFETCHT0 (R9)
	MOVQ (R12), R9
	MOVQ batch_fetch(AX), R14
	ADDQ R9, R14
	ANDQ $-64, R9
ask:
	PREFETCHT0 (R9)
	ADDQ $64, R9
	CMPQ R9, R14
	JB   ask
	ADDQ $8, R12
	ADDQ $8, R13
asked:
	MOVQ (BX), DI
	TESTQ DI, DI
	JZ   absent
	MOVQ batch_stateAt(AX), SI
	ADDQ DI, SI
	ADDQ batch_valuesAt(AX), DI
	VBROADCASTSS (R10), Z8
	// First look whether all of the gradient is finite.
	MOVQ DX, R14
	MOVQ batch_dim(AX), CX
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
	VMOVUPS.Z  (DX), K1, Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
checked:
	MOVQ R14, DX
	MOVQ batch_dim(AX), CX
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
	LEAQ (DX)(CX*4), DX
done:
	MOVB $1, (R11)
again:
	ADDQ $8, BX
	ADDQ $4, R10
	INCQ R11
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
refuse:
	MOVQ R14, DX
absent:
	MOVQ batch_dim(AX), CX
	LEAQ (DX)(CX*4), DX
	MOVB $0, (R11)
	JMP  again

// func adagradAfterAVX512(b *batch)
TEXT ·adagradAfterAVX512(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), AX
	MOVQ batch_places(AX), BX
	MOVQ batch_n(AX), R8
	MOVQ batch_grads(AX), DX
	MOVQ batch_rates(AX), R10
	MOVQ batch_done(AX), R11
	MOVQ batch_next(AX), R12
	MOVQ batch_groups(AX), R13
	VBROADCASTSS batch_divisor(AX), Z9
	VBROADCASTSS batch_limit(AX), Z10
	VPXOR   X11, X11, X11
	VSUBPS  Z10, Z11, Z11
	MOVQ batch_dim(AX), CX
	ANDQ $15, CX
	// The mask of the last CX values.
	MOVL  $1, R9
	SHLL  CX, R9
	DECL  R9
	KMOVW R9, K1
row:
	TESTQ R12, R12
	JZ   asked
	MOVQ (R13), R9
	PREFETCHT0 (R9)
	MOVQ (R12), R9
	MOVQ batch_fetch(AX), R14
	ADDQ R9, R14
	ANDQ $-64, R9
ask:
	PREFETCHT0 (R9)
	ADDQ $64, R9
	CMPQ R9, R14
	JB   ask
	ADDQ $8, R12
	ADDQ $8, R13
asked:
	MOVQ (BX), DI
	TESTQ DI, DI
	JZ   absent
	MOVQ batch_stateAt(AX), SI
	ADDQ DI, SI
	ADDQ batch_valuesAt(AX), DI
	VBROADCASTSS (R10), Z8
	// First look whether all of the gradient is finite.
	MOVQ DX, R14
	MOVQ batch_dim(AX), CX
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
	VMOVUPS.Z  (DX), K1, Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
checked:
	MOVQ R14, DX
	MOVQ batch_dim(AX), CX
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
	LEAQ (DX)(CX*4), DX
done:
	MOVB $1, (R11)
again:
	ADDQ $8, BX
	ADDQ $4, R10
	INCQ R11
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
refuse:
	MOVQ R14, DX
absent:
	MOVQ batch_dim(AX), CX
	LEAQ (DX)(CX*4), DX
	MOVB $0, (R11)
	JMP  again

// func descendAVX512(b *batch)
TEXT ·descendAVX512(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), AX
	MOVQ batch_places(AX), BX
	MOVQ batch_n(AX), R8
	MOVQ batch_grads(AX), DX
	MOVQ batch_rates(AX), R10
	MOVQ batch_done(AX), R11
	MOVQ batch_next(AX), R12
	MOVQ batch_groups(AX), R13
	VBROADCASTSS batch_divisor(AX), Z9
	VBROADCASTSS batch_limit(AX), Z10
	VPXOR   X11, X11, X11
	VSUBPS  Z10, Z11, Z11
	MOVQ batch_dim(AX), CX
	ANDQ $15, CX
	// The mask of the last CX values.
	MOVL  $1, R9
	SHLL  CX, R9
	DECL  R9
	KMOVW R9, K1
row:
	TESTQ R12, R12
	JZ   asked
	MOVQ (R13), R9
	PREFETCHT0 (R9)
	MOVQ (R12), R9
	MOVQ batch_fetch(AX), R14
	ADDQ R9, R14
	ANDQ $-64, R9
ask:
	PREFETCHT0 (R9)
	ADDQ $64, R9
	CMPQ R9, R14
	JB   ask
	ADDQ $8, R12
	ADDQ $8, R13
asked:
	MOVQ (BX), DI
	TESTQ DI, DI
	JZ   absent
	MOVQ batch_stateAt(AX), SI
	ADDQ DI, SI
	ADDQ batch_valuesAt(AX), DI
	VBROADCASTSS (R10), Z8
	// First look whether all of the gradient is finite.
	MOVQ DX, R14
	MOVQ batch_dim(AX), CX
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
	VMOVUPS.Z  (DX), K1, Z0
	VSUBPS Z0, Z0, Z0 // 0, but NaN of NaN and Inf
	VPTESTMD Z0, Z0, K2
	KORTESTW K2, K2
	JNZ   refuse
checked:
	MOVQ R14, DX
	MOVQ batch_dim(AX), CX
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
	LEAQ (DX)(CX*4), DX
done:
	MOVB $1, (R11)
again:
	ADDQ $8, BX
	ADDQ $4, R10
	INCQ R11
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
refuse:
	MOVQ R14, DX
absent:
	MOVQ batch_dim(AX), CX
	LEAQ (DX)(CX*4), DX
	MOVB $0, (R11)
	JMP  again

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
	MOVL  $1, R9
	SHLL  CX, R9
	DECL  R9
	KMOVW R9, K1
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

// func adagradBeforeAVX2(b *batch)
TEXT ·adagradBeforeAVX2(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), AX
	MOVQ batch_places(AX), BX
	MOVQ batch_n(AX), R8
	MOVQ batch_grads(AX), DX
	MOVQ batch_rates(AX), R10
	MOVQ batch_done(AX), R11
	MOVQ batch_next(AX), R12
	MOVQ batch_groups(AX), R13
	VBROADCASTSS batch_divisor(AX), Y9
	VBROADCASTSS batch_limit(AX), Y10
	VPXOR   X11, X11, X11
	VSUBPS  Y10, Y11, Y11
	MOVQ batch_dim(AX), CX
	ANDQ $7, CX
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R9
	SHLQ  $2, CX
	SUBQ  CX, R9
	VMOVDQU 32(R9), Y15
row:
	TESTQ R12, R12
	JZ   asked
	MOVQ (R13), R9
	PREFETCHT0 (R9)
	MOVQ (R12), R9
	MOVQ batch_fetch(AX), R14
	ADDQ R9, R14
	ANDQ $-64, R9
ask:
	PREFETCHT0 (R9)
	ADDQ $64, R9
	CMPQ R9, R14
	JB   ask
	ADDQ $8, R12
	ADDQ $8, R13
asked:
	MOVQ (BX), DI
	TESTQ DI, DI
	JZ   absent
	MOVQ batch_stateAt(AX), SI
	ADDQ DI, SI
	ADDQ batch_valuesAt(AX), DI
	VBROADCASTSS (R10), Y8
	// First look whether all of the gradient is finite.
	MOVQ DX, R14
	MOVQ batch_dim(AX), CX
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
	VMASKMOVPS  (DX), Y15, Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
checked:
	MOVQ R14, DX
	MOVQ batch_dim(AX), CX
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
	LEAQ (DX)(CX*4), DX
done:
	MOVB $1, (R11)
again:
	ADDQ $8, BX
	ADDQ $4, R10
	INCQ R11
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
refuse:
	MOVQ R14, DX
absent:
	MOVQ batch_dim(AX), CX
	LEAQ (DX)(CX*4), DX
	MOVB $0, (R11)
	JMP  again

// func adagradAfterAVX2(b *batch)
TEXT ·adagradAfterAVX2(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), AX
	MOVQ batch_places(AX), BX
	MOVQ batch_n(AX), R8
	MOVQ batch_grads(AX), DX
	MOVQ batch_rates(AX), R10
	MOVQ batch_done(AX), R11
	MOVQ batch_next(AX), R12
	MOVQ batch_groups(AX), R13
	VBROADCASTSS batch_divisor(AX), Y9
	VBROADCASTSS batch_limit(AX), Y10
	VPXOR   X11, X11, X11
	VSUBPS  Y10, Y11, Y11
	MOVQ batch_dim(AX), CX
	ANDQ $7, CX
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R9
	SHLQ  $2, CX
	SUBQ  CX, R9
	VMOVDQU 32(R9), Y15
row:
	TESTQ R12, R12
	JZ   asked
	MOVQ (R13), R9
	PREFETCHT0 (R9)
	MOVQ (R12), R9
	MOVQ batch_fetch(AX), R14
	ADDQ R9, R14
	ANDQ $-64, R9
ask:
	PREFETCHT0 (R9)
	ADDQ $64, R9
	CMPQ R9, R14
	JB   ask
	ADDQ $8, R12
	ADDQ $8, R13
asked:
	MOVQ (BX), DI
	TESTQ DI, DI
	JZ   absent
	MOVQ batch_stateAt(AX), SI
	ADDQ DI, SI
	ADDQ batch_valuesAt(AX), DI
	VBROADCASTSS (R10), Y8
	// First look whether all of the gradient is finite.
	MOVQ DX, R14
	MOVQ batch_dim(AX), CX
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
	VMASKMOVPS  (DX), Y15, Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
checked:
	MOVQ R14, DX
	MOVQ batch_dim(AX), CX
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
	LEAQ (DX)(CX*4), DX
done:
	MOVB $1, (R11)
again:
	ADDQ $8, BX
	ADDQ $4, R10
	INCQ R11
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
refuse:
	MOVQ R14, DX
absent:
	MOVQ batch_dim(AX), CX
	LEAQ (DX)(CX*4), DX
	MOVB $0, (R11)
	JMP  again

// func descendAVX2(b *batch)
TEXT ·descendAVX2(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), AX
	MOVQ batch_places(AX), BX
	MOVQ batch_n(AX), R8
	MOVQ batch_grads(AX), DX
	MOVQ batch_rates(AX), R10
	MOVQ batch_done(AX), R11
	MOVQ batch_next(AX), R12
	MOVQ batch_groups(AX), R13
	VBROADCASTSS batch_divisor(AX), Y9
	VBROADCASTSS batch_limit(AX), Y10
	VPXOR   X11, X11, X11
	VSUBPS  Y10, Y11, Y11
	MOVQ batch_dim(AX), CX
	ANDQ $7, CX
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R9
	SHLQ  $2, CX
	SUBQ  CX, R9
	VMOVDQU 32(R9), Y15
row:
	TESTQ R12, R12
	JZ   asked
	MOVQ (R13), R9
	PREFETCHT0 (R9)
	MOVQ (R12), R9
	MOVQ batch_fetch(AX), R14
	ADDQ R9, R14
	ANDQ $-64, R9
ask:
	PREFETCHT0 (R9)
	ADDQ $64, R9
	CMPQ R9, R14
	JB   ask
	ADDQ $8, R12
	ADDQ $8, R13
asked:
	MOVQ (BX), DI
	TESTQ DI, DI
	JZ   absent
	MOVQ batch_stateAt(AX), SI
	ADDQ DI, SI
	ADDQ batch_valuesAt(AX), DI
	VBROADCASTSS (R10), Y8
	// First look whether all of the gradient is finite.
	MOVQ DX, R14
	MOVQ batch_dim(AX), CX
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
	VMASKMOVPS  (DX), Y15, Y0
	VSUBPS Y0, Y0, Y0 // 0, but NaN of NaN and Inf
	VPTEST Y0, Y0
	JNZ   refuse
checked:
	MOVQ R14, DX
	MOVQ batch_dim(AX), CX
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
	LEAQ (DX)(CX*4), DX
done:
	MOVB $1, (R11)
again:
	ADDQ $8, BX
	ADDQ $4, R10
	INCQ R11
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
refuse:
	MOVQ R14, DX
absent:
	MOVQ batch_dim(AX), CX
	LEAQ (DX)(CX*4), DX
	MOVB $0, (R11)
	JMP  again

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
	LEAQ  ends<>(SB), R9
	SHLQ  $2, CX
	SUBQ  CX, R9
	VMOVDQU 32(R9), Y15
	VMASKMOVPS (DX), Y15, Y0
	VMULPS  Y0, Y0, Y0
	VADDPS  Y0, Y2, Y2
	JMP  fold
below:
	// The mask of the last CX values.
	LEAQ  ends<>(SB), R9
	SHLQ  $2, CX
	SUBQ  CX, R9
	VMOVDQU 32(R9), Y15
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

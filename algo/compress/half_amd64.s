#include "textflag.h"

// func hasF16C() bool
//
// CPUID leaf 1, ECX: bit 27 the system saves wide registers, 28 AVX, 29 F16C;
// XGETBV: bits 1 and 2, it saves those of SSE and AVX.
TEXT ·hasF16C(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	MOVL $1, AX
	XORL CX, CX
	CPUID
	ANDL $0x38000000, CX
	CMPL CX, $0x38000000
	JNE  done
	XORL CX, CX
	XGETBV
	ANDL $6, AX
	CMPL AX, $6
	JNE  done
	MOVB $1, ret+0(FP)
done:
	RET

// func putEights(dst *byte, values *float32, eights int, scale float32)
TEXT ·putEights(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ eights+16(FP), CX
	VBROADCASTSS scale+24(FP), Y1
put:
	VMOVUPS (SI), Y0
	VMULPS Y1, Y0, Y0
	VCVTPS2PH $0, Y0, (DI) // 0: to the nearest, of two the even
	ADDQ $32, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  put
	VZEROUPPER
	RET

// func getEights(values *float32, src *byte, eights int, scale float32)
TEXT ·getEights(SB), NOSPLIT, $0-28
	MOVQ values+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ eights+16(FP), CX
	VBROADCASTSS scale+24(FP), Y1
get:
	VCVTPH2PS (SI), Y0
	VMULPS Y1, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $16, SI
	DECQ CX
	JNZ  get
	VZEROUPPER
	RET

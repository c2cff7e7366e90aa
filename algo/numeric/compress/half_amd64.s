#include "textflag.h"

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

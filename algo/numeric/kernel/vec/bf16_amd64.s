#include "textflag.h"

DATA bf16ones<>+0(SB)/4, $1
GLOBL bf16ones<>(SB), RODATA|NOPTR, $4
DATA bf16bias<>+0(SB)/4, $0x7fff
GLOBL bf16bias<>(SB), RODATA|NOPTR, $4
DATA bf16quiet<>+0(SB)/4, $0x40
GLOBL bf16quiet<>(SB), RODATA|NOPTR, $4

// func toBF16AVX512(dst []uint16, src []float32)
//
// For each of 16 values b: its upper half u = b >> 16; to the nearest, of two the
// even one, (b + 0x7fff + (u & 1)) >> 16; where the value is NaN, u | 0x40 instead.
// DI dst, SI src, CX values left; K1 the lanes of this turn, K2 those with NaN;
// Z10 1, Z11 0x7fff, Z12 0x40.
TEXT ·toBF16AVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	VPBROADCASTD bf16ones<>(SB), Z10
	VPBROADCASTD bf16bias<>(SB), Z11
	VPBROADCASTD bf16quiet<>(SB), Z12
	KXNORW K1, K1, K1

turn:
	CMPQ CX, $16
	JGE  whole
	MOVL $1, AX // the lanes that are left: 2^CX − 1
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1

whole:
	VMOVUPS.Z (SI), K1, Z0
	VCMPPS $3, Z0, Z0, K2 // 3: unordered, as NaN is with itself
	VPSRLD $16, Z0, Z1
	VPANDD Z10, Z1, Z2
	VPADDD Z11, Z2, Z2
	VPADDD Z0, Z2, Z2
	VPSRLD $16, Z2, Z2
	VPORD  Z12, Z1, K2, Z2
	VPMOVDW Z2, K1, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $16, CX
	JG   turn
	VZEROUPPER
	RET

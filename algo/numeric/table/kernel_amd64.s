// Code generated from testdata/kernel_amd64.s.tmpl by algo/numeric/isa/generate. DO NOT EDIT.

#include "go_asm.h"
#include "textflag.h"

// Registers of all functions here:
//
//	SI, BX  where the next hash (or row number) is read, and its row (or values) written
//	DX      the end of what SI reads
//	R8, R9  segments, number of groups
//	R10, CX slabs, and the shift that takes a row number to its slab
//	R11     bytes of a row
//
// GROUP leaves the address of group DI in R14, with R15 as scratch.
#define GROUP \
	MOVQ DI, R14 \
	SHRQ $const_segmentShift, R14 \
	MOVQ (R8)(R14*8), R14 \
	MOVQ DI, R15 \
	ANDQ $(const_segmentGroups-1), R15 \
	SHLQ $6, R15 \
	ADDQ R15, R14

// ROW leaves the address of row R15 in R14. The number of a row in its slab is
// what is left by inSlab, a local variable.
#define ROW \
	MOVQ R15, R14 \
	SHRQ CX, R14 \
	MOVQ (R10)(R14*8), R14 \
	ANDQ inSlab-8(SP), R15 \
	IMULQ R11, R15 \
	ADDQ R15, R14

// SLABS loads what ROW needs from the view in DI, with R14 as scratch.
#define SLABS \
	MOVQ view_slabs(DI), R10 \
	MOVQ view_slabShift(DI), CX \
	MOVQ view_rowBytes(DI), R11 \
	MOVQ $1, R14 \
	SHLQ CX, R14 \
	DECQ R14 \
	MOVQ R14, inSlab-8(SP)

// func hashAMD64(v *view, signs *uint64, n int, hashes *[chunkSigns]uint64, places *[chunkSigns]unsafe.Pointer)
//
// The hash is rng.Mix. R10 is where the next line is written.
TEXT ·hashAMD64(SB), NOSPLIT, $0-40
	MOVQ v+0(FP), DI
	MOVQ signs+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*8), DX
	MOVQ hashes+24(FP), BX
	MOVQ places+32(FP), R10
	MOVQ view_segments(DI), R8
	MOVQ view_groups(DI), R9
	MOVQ $0xbf58476d1ce4e5b9, R12
	MOVQ $0x94d049bb133111eb, R13
next:
	MOVQ  (SI), AX
	MOVQ  AX, DI
	SHRQ  $30, DI
	XORQ  DI, AX
	IMULQ R12, AX
	MOVQ  AX, DI
	SHRQ  $27, DI
	XORQ  DI, AX
	IMULQ R13, AX
	MOVQ  AX, DI
	SHRQ  $31, DI
	XORQ  DI, AX
	MOVQ  AX, (BX)
	MOVQ  AX, DI
	SHRQ  $32, DI  // the tag
	IMULQ R9, DI
	SHRQ  $32, DI  // its home
	GROUP
	MOVQ  R14, (R10)
	ADDQ  $8, SI
	ADDQ  $8, BX
	ADDQ  $8, R10
	CMPQ  SI, DX
	JB    next
	RET

// func fetchAMD64(line unsafe.Pointer, bytes int)
TEXT ·fetchAMD64(SB), NOSPLIT, $0-16
	MOVQ line+0(FP), AX
	MOVQ bytes+8(FP), BX
	ADDQ AX, BX
	ANDQ $-const_lineBytes, AX
fetch:
	PREFETCHT0 (AX)
	ADDQ $const_lineBytes, AX
	CMPQ AX, BX
	JB   fetch
	RET

// func confirmAMD64(places *unsafe.Pointer, rows *int32, signs *uint64, counts *uint32, n int, marks uint32) int
TEXT ·confirmAMD64(SB), NOSPLIT, $0-56
	MOVQ places+0(FP), BX
	MOVQ rows+8(FP), R8
	MOVQ signs+16(FP), SI
	MOVQ counts+24(FP), R10
	MOVQ n+32(FP), DX
	MOVL marks+40(FP), R13
	XORQ AX, AX
row:
	CMPL (R8)(AX*4), $0
	JLT  stop
	MOVQ (BX)(AX*8), DI
	MOVQ (SI)(AX*8), R9
	CMPQ R9, (DI)
	JNE  stop
	MOVL 8(DI), R9
	MOVL R9, R12
	ORL  R13, R12
	CMPL R12, R9
	JEQ  marked  // a line that stays as it is need not be written back
	MOVL R12, 8(DI)
marked:
	ANDL $const_maxUpdates, R9
	MOVL R9, (R10)(AX*4)
	INCQ AX
	CMPQ AX, DX
	JB   row
stop:
	MOVQ AX, ret+48(FP)
	RET

// func probeAVX512(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32, places *[chunkSigns]unsafe.Pointer)
//
// R12 is where the next line is written. Z0 is a group, Z1 the tag in all lanes, Z2 the tags of the group. A bit of AX
// is a slot with the tag, a bit of R15 an empty one.
TEXT ·probeAVX512(SB), NOSPLIT, $8-40
	MOVQ v+0(FP), DI
	MOVQ hashes+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*8), DX
	MOVQ rows+24(FP), BX
	MOVQ view_segments(DI), R8
	MOVQ view_groups(DI), R9
	MOVQ places+32(FP), R12
	SLABS
next:
	MOVQ  (SI), AX
	SHRQ  $32, AX
	MOVQ  AX, DI
	IMULQ R9, DI
	SHRQ  $32, DI
	VPBROADCASTQ AX, Z1
group:
	GROUP
	VMOVDQU64 (R14), Z0
	VPTESTMQ  Z0, Z0, K2       // full slots
	VPSRLQ    $32, Z0, Z2
	VPCMPEQQ  Z1, Z2, K2, K1   // of these, those with the tag
	KMOVB     K1, AX
	KMOVB     K2, R15
	XORL      $0xff, R15
	TESTL AX, AX
	JNZ   found
	TESTL R15, R15
	JNZ   absent
	INCQ  DI
	CMPQ  DI, R9
	JB    group
	XORL  DI, DI
	JMP   group
absent:
	MOVL  $-1, (BX)
	JMP   done
found:
	BSFQ  AX, AX
	MOVL  (R14)(AX*8), R15 // row number + 1
	DECL  R15
	MOVL  R15, (BX)
	ROW
done:
	MOVQ  R14, (R12)       // of an absent row, a group: no harm in asking for that
	ADDQ  $8, R12
	ADDQ  $8, SI
	ADDQ  $4, BX
	CMPQ  SI, DX
	JB    next
	VZEROUPPER
	RET

// func gatherFP32AVX512(v *view, rows *int32, n int, dst *float32, dim int, nextPlaces, groupPlaces *unsafe.Pointer)
//
// R12 counts the values of a row that are left. R8 and R9 are the lines ahead.
TEXT ·gatherFP32AVX512(SB), NOSPLIT, $8-56
	MOVQ v+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dst+24(FP), BX
	MOVQ dim+32(FP), R13
	MOVQ nextPlaces+40(FP), R8
	MOVQ groupPlaces+48(FP), R9
	SLABS
	MOVQ  R13, AX
	ANDQ  $15, AX
	MOVQ  $1, R12
	XCHGQ AX, CX
	SHLQ  CX, R12
	XCHGQ AX, CX
	DECQ  R12
	KMOVW R12, K1 // the lanes of the last, shorter piece
row:
	TESTQ R8, R8
	JZ   fetched
	MOVQ (R9), R14
	PREFETCHT0 (R14)
	MOVQ (R8), R14
	LEAQ const_headerBytes(R14)(R13*4), R15
	ANDQ $-const_lineBytes, R14
fetch:
	PREFETCHT0 (R14)
	ADDQ $const_lineBytes, R14
	CMPQ R14, R15
	JB   fetch
	ADDQ $8, R8
	ADDQ $8, R9
fetched:
	MOVL (SI), R15
	ROW
	MOVQ R13, R12
	SUBQ $16, R12
	JLT  rest
piece:
	VMOVUPS const_headerBytes(R14), Z0
	VMOVUPS Z0, (BX)
	ADDQ $(4*16), R14
	ADDQ $(4*16), BX
	SUBQ $16, R12
	JGE  piece
rest:
	ADDQ $16, R12
	JZ   done
	VMOVUPS.Z const_headerBytes(R14), K1, Z0
	VMOVUPS Z0, K1, (BX)
	LEAQ (BX)(R12*4), BX
done:
	ADDQ $4, SI
	CMPQ SI, DX
	JB   row
	VZEROUPPER
	RET
// func gatherBF16AVX512(v *view, rows *int32, n int, dst *float32, dim int, nextPlaces, groupPlaces *unsafe.Pointer)
//
// R12 counts the values of a row that are left. R8 and R9 are the lines ahead.
TEXT ·gatherBF16AVX512(SB), NOSPLIT, $8-56
	MOVQ v+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dst+24(FP), BX
	MOVQ dim+32(FP), R13
	MOVQ nextPlaces+40(FP), R8
	MOVQ groupPlaces+48(FP), R9
	SLABS
	MOVQ  R13, AX
	ANDQ  $15, AX
	MOVQ  $1, R12
	XCHGQ AX, CX
	SHLQ  CX, R12
	XCHGQ AX, CX
	DECQ  R12
	KMOVW R12, K1 // the lanes of the last, shorter piece
row:
	TESTQ R8, R8
	JZ   fetched
	MOVQ (R9), R14
	PREFETCHT0 (R14)
	MOVQ (R8), R14
	LEAQ const_headerBytes(R14)(R13*2), R15
	ANDQ $-const_lineBytes, R14
fetch:
	PREFETCHT0 (R14)
	ADDQ $const_lineBytes, R14
	CMPQ R14, R15
	JB   fetch
	ADDQ $8, R8
	ADDQ $8, R9
fetched:
	MOVL (SI), R15
	ROW
	MOVQ R13, R12
	SUBQ $16, R12
	JLT  rest
piece:
	VPMOVZXWD const_headerBytes(R14), Z0
	VPSLLD $16, Z0, Z0
	VMOVUPS Z0, (BX)
	ADDQ $(2*16), R14
	ADDQ $(4*16), BX
	SUBQ $16, R12
	JGE  piece
rest:
	ADDQ $16, R12
	JZ   done
	VMOVDQU16.Z const_headerBytes(R14), K1, Y0
	VPMOVZXWD Y0, Z0
	VPSLLD $16, Z0, Z0
	VMOVUPS Z0, K1, (BX)
	LEAQ (BX)(R12*4), BX
done:
	ADDQ $4, SI
	CMPQ SI, DX
	JB   row
	VZEROUPPER
	RET
// func gatherFP16AVX512(v *view, rows *int32, n int, dst *float32, dim int, nextPlaces, groupPlaces *unsafe.Pointer)
//
// R12 counts the values of a row that are left. R8 and R9 are the lines ahead.
TEXT ·gatherFP16AVX512(SB), NOSPLIT, $8-56
	MOVQ v+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dst+24(FP), BX
	MOVQ dim+32(FP), R13
	MOVQ nextPlaces+40(FP), R8
	MOVQ groupPlaces+48(FP), R9
	SLABS
	MOVQ  R13, AX
	ANDQ  $15, AX
	MOVQ  $1, R12
	XCHGQ AX, CX
	SHLQ  CX, R12
	XCHGQ AX, CX
	DECQ  R12
	KMOVW R12, K1 // the lanes of the last, shorter piece
row:
	TESTQ R8, R8
	JZ   fetched
	MOVQ (R9), R14
	PREFETCHT0 (R14)
	MOVQ (R8), R14
	LEAQ const_headerBytes(R14)(R13*2), R15
	ANDQ $-const_lineBytes, R14
fetch:
	PREFETCHT0 (R14)
	ADDQ $const_lineBytes, R14
	CMPQ R14, R15
	JB   fetch
	ADDQ $8, R8
	ADDQ $8, R9
fetched:
	MOVL (SI), R15
	ROW
	MOVQ R13, R12
	SUBQ $16, R12
	JLT  rest
piece:
	VCVTPH2PS const_headerBytes(R14), Z0
	VMOVUPS Z0, (BX)
	ADDQ $(2*16), R14
	ADDQ $(4*16), BX
	SUBQ $16, R12
	JGE  piece
rest:
	ADDQ $16, R12
	JZ   done
	VMOVDQU16.Z const_headerBytes(R14), K1, Y0
	VCVTPH2PS Y0, Z0
	VMOVUPS Z0, K1, (BX)
	LEAQ (BX)(R12*4), BX
done:
	ADDQ $4, SI
	CMPQ SI, DX
	JB   row
	VZEROUPPER
	RET

// func probeAVX2(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32, places *[chunkSigns]unsafe.Pointer)
//
// R12 is where the next line is written. Y0 and Y3 are a group, Y1 the tag in all lanes, Y2 and Y4 the tags of the
// group, Y5 zeros. A bit of AX
// is a slot with the tag, a bit of R15 an empty one.
TEXT ·probeAVX2(SB), NOSPLIT, $8-40
	MOVQ v+0(FP), DI
	MOVQ hashes+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*8), DX
	MOVQ rows+24(FP), BX
	MOVQ view_segments(DI), R8
	MOVQ view_groups(DI), R9
	MOVQ places+32(FP), R12
	SLABS
	VPXOR Y5, Y5, Y5
next:
	MOVQ  (SI), AX
	SHRQ  $32, AX
	MOVQ  AX, DI
	IMULQ R9, DI
	SHRQ  $32, DI
	VMOVQ AX, X1
	VPBROADCASTQ X1, Y1
group:
	GROUP
	VMOVDQU   (R14), Y0
	VMOVDQU   32(R14), Y3
	VPSRLQ    $32, Y0, Y2
	VPSRLQ    $32, Y3, Y4
	VPCMPEQQ  Y1, Y2, Y2
	VPCMPEQQ  Y1, Y4, Y4
	VPCMPEQQ  Y5, Y0, Y0
	VPCMPEQQ  Y5, Y3, Y3
	VPANDN    Y2, Y0, Y2       // with the tag, and not empty
	VPANDN    Y4, Y3, Y4
	VMOVMSKPD Y2, AX
	VMOVMSKPD Y4, R15
	SHLL      $4, R15
	ORL       R15, AX
	VMOVMSKPD Y0, R15
	TESTL AX, AX
	JNZ   found
	VMOVMSKPD Y3, AX
	ORL   AX, R15
	TESTL R15, R15
	JNZ   absent
	INCQ  DI
	CMPQ  DI, R9
	JB    group
	XORL  DI, DI
	JMP   group
absent:
	MOVL  $-1, (BX)
	JMP   done
found:
	BSFQ  AX, AX
	MOVL  (R14)(AX*8), R15 // row number + 1
	DECL  R15
	MOVL  R15, (BX)
	ROW
done:
	MOVQ  R14, (R12)       // of an absent row, a group: no harm in asking for that
	ADDQ  $8, R12
	ADDQ  $8, SI
	ADDQ  $4, BX
	CMPQ  SI, DX
	JB    next
	VZEROUPPER
	RET

// func gatherFP32AVX2(v *view, rows *int32, n int, dst *float32, dim int, nextPlaces, groupPlaces *unsafe.Pointer)
//
// R12 counts the values of a row that are left. R8 and R9 are the lines ahead.
TEXT ·gatherFP32AVX2(SB), NOSPLIT, $8-56
	MOVQ v+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dst+24(FP), BX
	MOVQ dim+32(FP), R13
	MOVQ nextPlaces+40(FP), R8
	MOVQ groupPlaces+48(FP), R9
	SLABS
row:
	TESTQ R8, R8
	JZ   fetched
	MOVQ (R9), R14
	PREFETCHT0 (R14)
	MOVQ (R8), R14
	LEAQ const_headerBytes(R14)(R13*4), R15
	ANDQ $-const_lineBytes, R14
fetch:
	PREFETCHT0 (R14)
	ADDQ $const_lineBytes, R14
	CMPQ R14, R15
	JB   fetch
	ADDQ $8, R8
	ADDQ $8, R9
fetched:
	MOVL (SI), R15
	ROW
	MOVQ R13, R12
	SUBQ $8, R12
	JLT  rest
piece:
	VMOVUPS const_headerBytes(R14), Y0
	VMOVUPS Y0, (BX)
	ADDQ $(4*8), R14
	ADDQ $(4*8), BX
	SUBQ $8, R12
	JGE  piece
rest:
	ADDQ $8, R12
	JZ   done
one:
	VMOVSS const_headerBytes(R14), X0
	VMOVSS X0, (BX)
	ADDQ $4, R14
	ADDQ $4, BX
	DECQ R12
	JNZ  one
done:
	ADDQ $4, SI
	CMPQ SI, DX
	JB   row
	VZEROUPPER
	RET
// func gatherBF16AVX2(v *view, rows *int32, n int, dst *float32, dim int, nextPlaces, groupPlaces *unsafe.Pointer)
//
// R12 counts the values of a row that are left. R8 and R9 are the lines ahead.
TEXT ·gatherBF16AVX2(SB), NOSPLIT, $8-56
	MOVQ v+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dst+24(FP), BX
	MOVQ dim+32(FP), R13
	MOVQ nextPlaces+40(FP), R8
	MOVQ groupPlaces+48(FP), R9
	SLABS
row:
	TESTQ R8, R8
	JZ   fetched
	MOVQ (R9), R14
	PREFETCHT0 (R14)
	MOVQ (R8), R14
	LEAQ const_headerBytes(R14)(R13*2), R15
	ANDQ $-const_lineBytes, R14
fetch:
	PREFETCHT0 (R14)
	ADDQ $const_lineBytes, R14
	CMPQ R14, R15
	JB   fetch
	ADDQ $8, R8
	ADDQ $8, R9
fetched:
	MOVL (SI), R15
	ROW
	MOVQ R13, R12
	SUBQ $8, R12
	JLT  rest
piece:
	VPMOVZXWD const_headerBytes(R14), Y0
	VPSLLD $16, Y0, Y0
	VMOVUPS Y0, (BX)
	ADDQ $(2*8), R14
	ADDQ $(4*8), BX
	SUBQ $8, R12
	JGE  piece
rest:
	ADDQ $8, R12
	JZ   done
one:
	MOVWLZX const_headerBytes(R14), AX
	SHLL $16, AX
	VMOVD AX, X0
	VMOVSS X0, (BX)
	ADDQ $2, R14
	ADDQ $4, BX
	DECQ R12
	JNZ  one
done:
	ADDQ $4, SI
	CMPQ SI, DX
	JB   row
	VZEROUPPER
	RET
// func gatherFP16AVX2(v *view, rows *int32, n int, dst *float32, dim int, nextPlaces, groupPlaces *unsafe.Pointer)
//
// R12 counts the values of a row that are left. R8 and R9 are the lines ahead.
TEXT ·gatherFP16AVX2(SB), NOSPLIT, $8-56
	MOVQ v+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), DX
	LEAQ (SI)(DX*4), DX
	MOVQ dst+24(FP), BX
	MOVQ dim+32(FP), R13
	MOVQ nextPlaces+40(FP), R8
	MOVQ groupPlaces+48(FP), R9
	SLABS
row:
	TESTQ R8, R8
	JZ   fetched
	MOVQ (R9), R14
	PREFETCHT0 (R14)
	MOVQ (R8), R14
	LEAQ const_headerBytes(R14)(R13*2), R15
	ANDQ $-const_lineBytes, R14
fetch:
	PREFETCHT0 (R14)
	ADDQ $const_lineBytes, R14
	CMPQ R14, R15
	JB   fetch
	ADDQ $8, R8
	ADDQ $8, R9
fetched:
	MOVL (SI), R15
	ROW
	MOVQ R13, R12
	SUBQ $8, R12
	JLT  rest
piece:
	VCVTPH2PS const_headerBytes(R14), Y0
	VMOVUPS Y0, (BX)
	ADDQ $(2*8), R14
	ADDQ $(4*8), BX
	SUBQ $8, R12
	JGE  piece
rest:
	ADDQ $8, R12
	JZ   done
one:
	MOVWLZX const_headerBytes(R14), AX
	VMOVD AX, X0
	VCVTPH2PS X0, X0
	VMOVSS X0, (BX)
	ADDQ $2, R14
	ADDQ $4, BX
	DECQ R12
	JNZ  one
done:
	ADDQ $4, SI
	CMPQ SI, DX
	JB   row
	VZEROUPPER
	RET
// The element numbers times the step of randomBits.
DATA steps<>+0(SB)/4, $0
DATA steps<>+4(SB)/4, $2654435769
DATA steps<>+8(SB)/4, $1013904242
DATA steps<>+12(SB)/4, $3668340011
DATA steps<>+16(SB)/4, $2027808484
DATA steps<>+20(SB)/4, $387276957
DATA steps<>+24(SB)/4, $3041712726
DATA steps<>+28(SB)/4, $1401181199
DATA steps<>+32(SB)/4, $4055616968
DATA steps<>+36(SB)/4, $2415085441
DATA steps<>+40(SB)/4, $774553914
DATA steps<>+44(SB)/4, $3428989683
DATA steps<>+48(SB)/4, $1788458156
DATA steps<>+52(SB)/4, $147926629
DATA steps<>+56(SB)/4, $2802362398
DATA steps<>+60(SB)/4, $1161830871
GLOBL steps<>(SB), RODATA|NOPTR, $64

// RANDOM leaves the random bits of sixteen elements in Z1, those that Z16 lets
// through, and goes on to the next: Z8 is half of the key and the elements' steps,
// Z9 the other half, Z10 sixteen steps, Z12 and Z13 the multipliers of the mixer.
#define RANDOM \
	VPSRLD   $16, Z8, Z2 \
	VPXORD   Z2, Z8, Z1 \
	VPMULLD  Z12, Z1, Z1 \
	VPADDD   Z9, Z1, Z1 \
	VPSRLD   $15, Z1, Z2 \
	VPXORD   Z2, Z1, Z1 \
	VPMULLD  Z13, Z1, Z1 \
	VPSRLD   $16, Z1, Z2 \
	VPXORD   Z2, Z1, Z1 \
	VPANDD   Z16, Z1, Z1 \
	VPADDD   Z10, Z8, Z8

// ALL leaves a number in all lanes of a register.
#define ALL(number, register) \
	MOVL number, AX \
	VPBROADCASTD AX, register

// LANES leaves in K1 which of the CX ≥ 1 values left are in this register.
#define LANES(all) \
	MOVL  $0xffff, R8 \
	CMPQ  CX, $16 \
	JGE   all \
	MOVL  $1, R8 \
	SHLL  CX, R8 \
	DECL  R8 \
all: \
	KMOVW R8, K1

// func narrowBF16AVX512(dst *uint16, values *float32, n int, key uint64)
//
// Z0 is the values, Z3 their sizes, Z4 what becomes of these; Z14 lets a size
// through, Z15 is infinity. K2 are the NaN, K3 the finite.
TEXT ·narrowBF16AVX512(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ key+24(FP), AX
	VPBROADCASTD AX, Z8
	SHRQ $32, AX
	VPBROADCASTD AX, Z9
	VPADDD steps<>(SB), Z8, Z8
	ALL($0xe3779b90, Z10)
	ALL($0x7feb352d, Z12)
	ALL($0x846ca68b, Z13)
	ALL($0x7fffffff, Z14)
	ALL($0x7f800000, Z15)
	ALL($0xffff, Z16)
	ALL($0x7f7f, Z17) // the largest
	ALL($0x7fc0, Z18) // NaN
next:
	LANES(all)
	VMOVUPS.Z (SI), K1, Z0
	RANDOM
	VPANDD  Z14, Z0, Z3
	VPCMPUD $6, Z15, Z3, K2 // above
	VPCMPUD $1, Z15, Z3, K3 // below
	VMOVDQA32 Z3, Z4
	VPADDD  Z1, Z3, K3, Z4
	VPSRLD  $16, Z4, Z4
	VPMINUD Z17, Z4, K3, Z4
	VMOVDQA32 Z18, K2, Z4
	VPSRLD  $31, Z0, Z5
	VPSLLD  $15, Z5, Z5
	VPORD   Z5, Z4, Z4
	VPMOVDW Z4, Y4
	VMOVDQU16 Y4, K1, (DI)
	ADDQ $32, DI
	ADDQ $64, SI
	SUBQ $16, CX
	JG   next
	VZEROUPPER
	RET

// func narrowFP16AVX512(dst *uint16, values *float32, n int, key uint64)
//
// Z0 is the values, Z3 their sizes, Z4 what becomes of these; Z14 lets a size
// through, Z15 is infinity. K2 are the NaN, K3 the finite.
TEXT ·narrowFP16AVX512(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ key+24(FP), AX
	VPBROADCASTD AX, Z8
	SHRQ $32, AX
	VPBROADCASTD AX, Z9
	VPADDD steps<>(SB), Z8, Z8
	ALL($0xe3779b90, Z10)
	ALL($0x7feb352d, Z12)
	ALL($0x846ca68b, Z13)
	ALL($0x7fffffff, Z14)
	ALL($0x7f800000, Z15)
	ALL($0x1fff, Z16)
	ALL($0x477fffff, Z17) // is cut off to the largest
	ALL($0x7fc00000, Z18) // NaN
	ALL($0x38800000, Z19) // the smallest that is normal
	ALL($0x2d000000, Z20) // 2⁻³⁷
next:
	LANES(all)
	VMOVUPS.Z (SI), K1, Z0
	RANDOM
	VPANDD  Z14, Z0, Z3
	VPCMPUD $6, Z15, Z3, K2 // above
	VPCMPUD $1, Z15, Z3, K3 // below
	VMOVDQA32 Z3, Z4
	VPADDD  Z1, Z3, K3, Z4
	VPMINUD Z17, Z4, K3, Z4
	VPCMPUD $1, Z19, Z3, K4
	VCVTDQ2PS Z1, Z5
	VMULPS  Z20, Z5, Z5
	VADDPS  Z5, Z3, K4, Z4
	VMOVDQA32 Z18, K2, Z4
	VPSRLD  $31, Z0, Z5
	VPSLLD  $31, Z5, Z5
	VPORD   Z5, Z4, Z4
	VCVTPS2PH $3, Z4, Y4    // the rest is cut off
	VMOVDQU16 Y4, K1, (DI)
	ADDQ $32, DI
	ADDQ $64, SI
	SUBQ $16, CX
	JG   next
	VZEROUPPER
	RET

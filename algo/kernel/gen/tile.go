package main

import "fmt"

func (m machine) tileName(rows, vectors int) string {
	return fmt.Sprintf("tile%dx%d%s", rows, vectors, m.name)
}

// tile writes the product of a few rows of packed A and a strip of packed B.
//
// Row i of the tile has its sums in registers vectors·i and up. A turn of the
// loop takes one l: it loads row l of B's strip, broadcasts A[i,l] for one i
// after the other, and adds the products. Two registers take turns at the
// broadcast, so that the next need not wait for the sums.
//
//	AX A, at column l     BX row l of B     CX turns left
//	DI C                  DX bytes between rows of C
//	K1, K2 which columns of C there are (AVX-512)
func (m machine) tile(s *source, rows, vectors int) {
	name := m.tileName(rows, vectors)
	s.label("\n// func %s(k int, a, b, c *float32, ldc int, mask uint32, add bool)", name)
	s.label("TEXT ·%s(SB), NOSPLIT, $0-45", name)
	s.op("MOVQ k+0(FP), CX")
	s.op("MOVQ a+8(FP), AX")
	s.op("MOVQ b+16(FP), BX")
	s.op("MOVQ c+24(FP), DI")
	s.op("MOVQ ldc+32(FP), DX")
	s.op("SHLQ $2, DX")
	if m.register == "Z" {
		s.op("MOVL mask+40(FP), R8")
		s.op("KMOVW R8, K1")
		s.op("SHRL $16, R8")
		s.op("KMOVW R8, K2")
	}
	s.op("MOVQ DI, SI")
	s.op("CMPB add+44(FP), $0")
	s.op("JEQ  zero")
	m.rows(s, rows, "SI", func(row int) {
		for v := range vectors {
			s.op("VMOVUPS%s %d(SI), %s%s", m.zeroing(), v*m.bytes(), m.mask(v), m.r(row*vectors+v))
		}
	})
	s.op("JMP  turn")
	s.label("zero:")
	for i := range rows * vectors {
		s.op("VXORPS %[1]s, %[1]s, %[1]s", m.r(i))
	}
	free := 2 * m.tileRows // the first register behind the sums of the largest tile
	s.label("turn:")
	for v := range vectors {
		s.op("VMOVUPS %d(BX), %s", v*m.bytes(), m.r(free+v))
	}
	for row := range rows {
		x := m.r(free + 2 + row%2)
		s.op("VBROADCASTSS %d(AX), %s", 4*stride*row, x)
		for v := range vectors {
			s.op("VFMADD231PS %s, %s, %s", m.r(free+v), x, m.r(row*vectors+v))
		}
	}
	s.op("ADDQ $4, AX")
	s.op("ADDQ $%d, BX", 2*m.bytes())
	s.op("DECQ CX")
	s.op("JNZ  turn")
	m.rows(s, rows, "DI", func(row int) {
		for v := range vectors {
			s.op("VMOVUPS %s, %s%d(DI)", m.r(row*vectors+v), m.mask(v), v*m.bytes())
		}
	})
	s.op("VZEROUPPER")
	s.op("RET")
}

// rows calls each for one row after the other; in between it moves the pointer
// on by DX.
func (m machine) rows(s *source, rows int, pointer string, each func(row int)) {
	for row := range rows {
		if row > 0 {
			s.op("ADDQ DX, %s", pointer)
		}
		each(row)
	}
}

// mask returns the operand that keeps the columns outside C untouched.
func (m machine) mask(vector int) string {
	if m.register == "Z" {
		return fmt.Sprintf("K%d, ", vector+1)
	}
	return ""
}

// zeroing is the suffix of a masked load that clears what it does not load.
func (m machine) zeroing() string {
	if m.register == "Z" {
		return ".Z"
	}
	return ""
}

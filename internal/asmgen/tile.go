package main

import "fmt"

// tileArguments is the parameter list of every tile.
const tileArguments = "k int, a *float32, lda int, b *float32, ldb, between int, " +
	"keep *float32, keepBetween int, c *float32, ldc, strips int, mask uint32, add bool"

// tileAssembly returns the assembly of package gemm.
func tileAssembly() []byte {
	s := &source{}
	s.label("%s%s#include \"textflag.h\"", header, amd64Only)
	for _, m := range sets {
		for _, f := range m.tiles() {
			m.tile(s, f)
		}
		m.transpose(s)
		m.strips(s)
	}
	return []byte(s.String())
}

// tileDeclarations returns the Go side: a declaration of every tile, and tables.
func tileDeclarations() []byte {
	s := &source{}
	s.label("%s%spackage gemm", header, amd64Only)
	for _, m := range sets {
		for _, f := range m.tiles() {
			s.label("\n//go:noescape\nfunc %s(%s)", m.tileName(f), tileArguments)
		}
	}
	for _, m := range sets {
		s.label("\nvar tiles%s = tiles{", m.Name)
		for i, list := range []string{"half", "whole", "keep"} {
			s.label("\t%s: []tile{", list)
			for _, f := range m.tiles() {
				if f.keep == (i == 2) && f.vectors == min(i+1, 2) {
					s.label("\t\t%d: %s,", f.rows, m.tileName(f))
				}
			}
			s.label("\t},")
		}
		s.label("}")
	}
	return gofmt(s.String())
}

// A tile is a function that computes a tile of C in one size.
type tile struct {
	rows, vectors int
	keep          bool // copies the strip of B on the way
}

// tileRows is the largest number of rows of a tile: each has two accumulators, and
// four registers remain for the operands.
func (m set) tileRows() int {
	if m.Wide {
		return 14
	}
	return 6
}

// tiles returns all tiles of a set. Only whole strips are kept.
func (m set) tiles() []tile {
	var list []tile
	for _, keep := range []bool{false, true} {
		for vectors := 1; vectors <= 2; vectors++ {
			for rows := 1; rows <= m.tileRows() && !(keep && vectors == 1); rows++ {
				list = append(list, tile{rows, vectors, keep})
			}
		}
	}
	return list
}

func (m set) tileName(f tile) string {
	verb := "tile"
	if f.keep {
		verb = "keep"
	}
	return fmt.Sprintf("%s%dx%d%s", verb, f.rows, f.vectors, m.Name)
}

// tile writes the product of a few rows of A and strips of B, one after the other.
//
// Row i of the tile has its sums in registers vectors·i and up. A turn of the
// loop takes one l: it loads row l of B's strip, broadcasts A[i,l] for one i
// after the other, and adds the products. Two registers take turns at the
// broadcast, so that the next need not wait for the sums.
//
//	AX, R10, R11  rows 0, 5 and 10 of A, at column l   R8, R9  bytes from row to row of A, and of three
//	BX  row l of B     R12  bytes from row to row of B     R13  where it is kept
//	DI, SI  C          DX   bytes from row to row of C     CX   turns left
//	R15  strips left   K1, K2  which columns of C there are (AVX-512)
//
// What the next strip begins with is kept in the arguments.
func (m set) tile(s *source, f tile) {
	name := m.tileName(f)
	s.label("\n// func %s(%s)", name, tileArguments)
	s.label("TEXT ·%s(SB), NOSPLIT, $0-93", name)
	m.loadArguments(s)
	s.label("strip:")
	s.op("MOVQ k+0(FP), CX")
	s.op("MOVQ a+8(FP), AX")
	for i := 5; i < f.rows; i += 5 {
		s.op("LEAQ (%s)(R8*4), %s", basesOfA[i/5-1], basesOfA[i/5])
		s.op("ADDQ R8, %s", basesOfA[i/5])
	}
	s.op("MOVQ b+24(FP), BX")
	if f.keep {
		s.op("MOVQ keep+48(FP), R13")
	}
	s.op("MOVQ c+64(FP), DI")
	m.begin(s, f)
	m.turns(s, f)
	m.rowsOfC(s, f, "DI", func(row, v int) {
		s.op("VMOVUPS %s, %s%d(DI)", m.reg(row*f.vectors+v), m.mask(v), v*m.bytes())
	})
	s.op("DECQ R15")
	s.op("JZ   done")
	s.op("MOVQ between+40(FP), BX")
	s.op("LEAQ (BX*4), BX")
	s.op("ADDQ BX, b+24(FP)")
	if f.keep {
		s.op("MOVQ keepBetween+56(FP), BX")
		s.op("LEAQ (BX*4), BX")
		s.op("ADDQ BX, keep+48(FP)")
	}
	s.op("ADDQ $%d, c+64(FP)", 2*m.bytes())
	s.op("JMP  strip")
	s.label("done:")
	s.op("VZEROUPPER")
	s.op("RET")
}

// loadArguments loads what is the same for all strips.
func (m set) loadArguments(s *source) {
	s.op("MOVQ lda+16(FP), R8")
	s.op("SHLQ $2, R8")
	s.op("LEAQ (R8)(R8*2), R9")
	s.op("MOVQ ldb+32(FP), R12")
	s.op("SHLQ $2, R12")
	s.op("MOVQ ldc+72(FP), DX")
	s.op("SHLQ $2, DX")
	if m.Wide {
		s.op("MOVL mask+88(FP), R15")
		s.op("KMOVW R15, K1")
		s.op("SHRL $16, R15")
		s.op("KMOVW R15, K2")
	}
	s.op("MOVQ strips+80(FP), R15")
}

// begin loads the sums from C, or clears them, and fetches the tile of C on the
// right, which is next.
func (m set) begin(s *source, f tile) {
	s.op("MOVQ DI, SI")
	s.op("CMPB add+92(FP), $0")
	s.op("JEQ  zero")
	m.rowsOfC(s, f, "SI", func(row, v int) {
		s.op("VMOVUPS%s %d(SI), %s%s", m.zeroing(), v*m.bytes(), m.mask(v), m.reg(row*f.vectors+v))
	})
	s.op("MOVQ DI, SI")
	m.rowsOfC(s, f, "SI", func(row, v int) {
		if v*m.bytes()%64 == 0 {
			s.op("PREFETCHT0 %d(SI)", 2*m.bytes()+v*m.bytes())
		}
	})
	s.op("JMP  turn")
	s.label("zero:")
	for i := range f.rows * f.vectors {
		s.op("VXORPS %[1]s, %[1]s, %[1]s", m.reg(i))
	}
}

// turns adds the products for every l.
func (m set) turns(s *source, f tile) {
	free := 2 * m.tileRows() // the first register behind the sums of the largest tile
	s.label("turn:")
	for v := range f.vectors {
		s.op("VMOVUPS %d(BX), %s", v*m.bytes(), m.reg(free+v))
		if f.keep {
			s.op("PREFETCHT0 %d(BX)(R12*8)", v*m.bytes())
			s.op("VMOVUPS %s, %d(R13)", m.reg(free+v), v*m.bytes())
		} else {
			s.op("PREFETCHT0 %d(BX)", prefetchAhead+v*m.bytes())
		}
	}
	for row := range f.rows {
		x := m.reg(free + 2 + row%2)
		s.op("VBROADCASTSS %s, %s", place(0, basesOfA[row/5], row%5, "R8", "R9"), x)
		for v := range f.vectors {
			s.op("VFMADD231PS %s, %s, %s", m.reg(free+v), x, m.reg(row*f.vectors+v))
		}
	}
	for i := 0; i < f.rows; i += 5 {
		s.op("ADDQ $4, %s", basesOfA[i/5])
	}
	s.op("ADDQ R12, BX")
	if f.keep {
		s.op("ADDQ $%d, R13", 2*m.bytes())
	}
	s.op("DECQ CX")
	s.op("JNZ  turn")
}

// basesOfA point to every fifth row of A.
var basesOfA = []string{"AX", "R10", "R11"}

// rowsOfC calls each for the vectors of one row of C after the other; in between
// it moves the pointer on.
func (m set) rowsOfC(s *source, f tile, pointer string, each func(row, v int)) {
	for row := range f.rows {
		if row > 0 {
			s.op("ADDQ DX, %s", pointer)
		}
		for v := range f.vectors {
			each(row, v)
		}
	}
}

// mask returns the operand that keeps the columns outside C untouched.
func (m set) mask(vector int) string {
	if m.Wide {
		return fmt.Sprintf("K%d, ", vector+1)
	}
	return ""
}

// zeroing is the suffix of a masked load that clears what it does not load.
func (m set) zeroing() string {
	if m.Wide {
		return ".Z"
	}
	return ""
}

// prefetchAhead is how far ahead of its use a packed strip is fetched, in bytes:
// 100 to 200 cycles, which hides the second-level cache. 512 to 2048 measure alike.
const prefetchAhead = 1024

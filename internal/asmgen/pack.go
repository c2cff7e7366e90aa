package main

import "strconv"

// quads returns the number of groups of four float32 in a register.
func (m set) quads() int { return m.Lanes / 4 }

// transpose writes the transposition of blocks as wide and high as a register.
// Four values of a row are loaded at a time, into the lane that the row's place
// asks for; four registers then hold four columns of all rows, each lane 4 by 4
// across, which unpacking puts upright.
//
//	SI, R10 … R12  rows 0, 4, 8, 12 of the block    R8, R9   bytes from row to row, and of three
//	DI, R13 … R15  as many rows of the destination  BX, DX   its bytes from row to row, and of three
//	CX columns left    AX rows left
func (m set) transpose(s *source) {
	s.label("\n// func transpose%s(dst *float32, ldd int, src *float32, lds int, rows, cols int)", m.Name)
	s.label("TEXT ·transpose%s(SB), NOSPLIT, $0-48", m.Name)
	s.op("MOVQ ldd+8(FP), BX")
	s.op("SHLQ $2, BX")
	s.op("LEAQ (BX)(BX*2), DX")
	s.op("MOVQ lds+24(FP), R8")
	s.op("SHLQ $2, R8")
	s.op("LEAQ (R8)(R8*2), R9")
	s.op("MOVQ rows+32(FP), AX")
	sources := []string{"SI", "R10", "R11", "R12"}[:m.quads()]
	targets := []string{"DI", "R13", "R14", "R15"}[:m.quads()]
	s.label("rows:")
	s.op("MOVQ src+16(FP), SI")
	s.op("MOVQ dst+0(FP), DI")
	for i := 1; i < m.quads(); i++ {
		s.op("LEAQ (%s)(R8*4), %s", sources[i-1], sources[i])
		s.op("LEAQ (%s)(BX*4), %s", targets[i-1], targets[i])
	}
	s.op("MOVQ cols+40(FP), CX")
	s.label("cols:")
	m.transposeBlock(s, sources, targets)
	for i := range m.quads() {
		s.op("ADDQ $%d, %s", m.bytes(), sources[i])
		s.op("LEAQ (%s)(BX*%d), %[1]s", targets[i], min(8, m.Lanes))
		if m.Lanes > 8 {
			s.op("LEAQ (%s)(BX*8), %[1]s", targets[i])
		}
	}
	s.op("SUBQ $%d, CX", m.Lanes)
	s.op("JNZ  cols")
	s.op("MOVQ R8, CX")
	s.op("IMULQ $%d, CX", m.Lanes)
	s.op("ADDQ CX, src+16(FP)")
	s.op("ADDQ $%d, dst+0(FP)", m.bytes())
	s.op("SUBQ $%d, AX", m.Lanes)
	s.op("JNZ  rows")
	s.op("VZEROUPPER")
	s.op("RET")
}

func (m set) transposeBlock(s *source, sources, targets []string) {
	quads := m.quads() // groups of four columns
	insert := "VINSERTF128"
	if m.Wide {
		insert = "VINSERTF32X4"
	}
	// across names the register of the rows t, t+4, … in columns 4·quad to 4·quad+3.
	across := func(t, quad int) string { return m.reg(t*quads + quad) }
	for t := range 4 {
		for lane := range m.quads() {
			for quad := range quads {
				address := place(16*quad, sources[lane], t, "R8", "R9")
				if lane == 0 {
					s.op("VMOVUPS %s, X%d", address, t*quads+quad)
				} else {
					s.op("%s $%d, %s, %s, %[4]s", insert, lane, address, across(t, quad))
				}
			}
		}
	}
	half := 4 * quads // registers from here on are free
	for quad := range quads {
		low, high := m.reg(half), m.reg(half+1)
		low2, high2 := m.reg(half+2), m.reg(half+3)
		s.op("VUNPCKLPS %s, %s, %s", across(1, quad), across(0, quad), low)
		s.op("VUNPCKHPS %s, %s, %s", across(1, quad), across(0, quad), high)
		s.op("VUNPCKLPS %s, %s, %s", across(3, quad), across(2, quad), low2)
		s.op("VUNPCKHPS %s, %s, %s", across(3, quad), across(2, quad), high2)
		s.op("VUNPCKLPD %s, %s, %s", low2, low, across(0, quad))
		s.op("VUNPCKHPD %s, %s, %s", low2, low, across(1, quad))
		s.op("VUNPCKLPD %s, %s, %s", high2, high, across(2, quad))
		s.op("VUNPCKHPD %s, %s, %s", high2, high, across(3, quad))
		for t := range 4 {
			s.op("VMOVUPS %s, %s", across(t, quad), place(0, targets[quad], t, "BX", "DX"))
		}
		half = 4*quads + (half-4*quads+4)%(4*quads)
	}
}

// strips writes the copy of rows of B to strips.
//
//	SI row of B    DI its place in the first strip    R8 bytes between rows of B
//	R10, R11 the same within a row    R9 bytes between strips    CX rows left    DX strips left
func (m set) strips(s *source) {
	s.label("\n// func strips%s(dst *float32, between int, src *float32, lds int, rows, count int)", m.Name)
	s.label("TEXT ·strips%s(SB), NOSPLIT, $0-48", m.Name)
	s.op("MOVQ dst+0(FP), DI")
	s.op("MOVQ between+8(FP), R9")
	s.op("SHLQ $2, R9")
	s.op("MOVQ src+16(FP), SI")
	s.op("MOVQ lds+24(FP), R8")
	s.op("SHLQ $2, R8")
	s.op("MOVQ rows+32(FP), CX")
	s.label("row:")
	s.op("MOVQ SI, R10")
	s.op("MOVQ DI, R11")
	s.op("MOVQ count+40(FP), DX")
	s.label("strip:")
	for v := range 2 {
		s.op("VMOVUPS %d(R10), %s", v*m.bytes(), m.reg(v))
	}
	for v := range 2 {
		s.op("VMOVUPS %s, %d(R11)", m.reg(v), v*m.bytes())
	}
	s.op("ADDQ $%d, R10", 2*m.bytes())
	s.op("ADDQ R9, R11")
	s.op("DECQ DX")
	s.op("JNZ  strip")
	s.op("ADDQ R8, SI")
	s.op("ADDQ $%d, DI", 2*m.bytes())
	s.op("DECQ CX")
	s.op("JNZ  row")
	s.op("VZEROUPPER")
	s.op("RET")
}

// place returns the operand t rows (0 to 4) behind a pointer, where one and three
// hold the bytes of one row and of three.
func place(offset int, pointer string, t int, one, three string) string {
	text := ""
	if offset > 0 {
		text = strconv.Itoa(offset)
	}
	text += "(" + pointer + ")"
	switch t {
	case 1:
		return text + "(" + one + "*1)"
	case 2:
		return text + "(" + one + "*2)"
	case 3:
		return text + "(" + three + "*1)"
	case 4:
		return text + "(" + one + "*4)"
	}
	return text
}

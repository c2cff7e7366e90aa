package main

import (
	"fmt"
	"slices"
	"strings"
)

// pointers are the registers of the arguments, in their order.
var pointers = []string{"R8", "R9", "R10", "R11", "R12", "R13", "SI", "DI"}

const prologue = `#include "textflag.h"

// Registers of every loop:
//
//	R8 …  the slices, at the current row
//	AX    column, counted in elements
//	BX    columns that whole vectors cover
//	CX    rows that are left
//	DX    columns
//	R15   stride in bytes; DI the other stride
//	K1    AVX-512: the lanes of the last columns
//	Y15   AVX2: the lanes of the last columns
//	0 …   of the vector registers: scalars, then the values of a program

// The lanes of the last columns of AVX2: a vector that begins n words before the
// middle has its first n lanes set.
DATA lastLanes<>+0(SB)/8, $0xffffffffffffffff
DATA lastLanes<>+8(SB)/8, $0xffffffffffffffff
DATA lastLanes<>+16(SB)/8, $0xffffffffffffffff
DATA lastLanes<>+24(SB)/8, $0xffffffffffffffff
DATA lastLanes<>+32(SB)/8, $0
DATA lastLanes<>+40(SB)/8, $0
DATA lastLanes<>+48(SB)/8, $0
DATA lastLanes<>+56(SB)/8, $0
GLOBL lastLanes<>(SB), RODATA|NOPTR, $64
`

// assembly returns the loops of a package for all sets.
func (p loopPackage) assembly() []byte {
	s := &source{}
	s.WriteString(header + amd64Only + prologue)
	for _, c := range p.constants {
		s.label("DATA %s<>+0(SB)/8, $%#x // %s\nGLOBL %[1]s<>(SB), RODATA|NOPTR, $8", c.name, c.bits, c.what)
	}
	for _, l := range p.loops {
		for _, set := range sets {
			w := &writer{source: s, loop: l, set: set, arguments: l.parse(), registers: map[string]int{}}
			w.function()
		}
	}
	return []byte(s.String())
}

// A writer writes one loop for one set of instructions.
type writer struct {
	*source
	loop
	set       set
	arguments []argument
	registers map[string]int // by name in the program
	masked    bool           // only the lanes of the last columns are in memory
}

// lanes returns the elements of a vector.
func (w *writer) lanes() int {
	if w.double {
		return w.set.Lanes / 2
	}
	return w.set.Lanes
}

// function writes the loop over rows, if there are any, around the loop over vectors
// and the last columns:
//
//	for each row { for each whole vector { program }; program on the last columns }
func (w *writer) function() {
	const sliceBytes = 24
	scalars := strings.Fields(w.scalars)
	first := 8 * len(w.counts()) // offset of the first slice
	frame := first + sliceBytes*len(w.arguments) + 4*len(scalars)
	w.label("\n// %s\n//\n//\t%s", w.signature(w.set), w.formula)
	w.label("TEXT ·%s%s(SB), NOSPLIT, $0-%d", w.name, w.set.Name, frame)
	if w.matrix {
		w.op("MOVQ cols+8(FP), DX")
		w.op("MOVQ stride+16(FP), R15")
		w.op("SHLQ $2, R15")
		if len(w.counts()) > 3 {
			w.op("MOVQ other+24(FP), DI")
			w.op("SHLQ $2, DI")
		}
	} else {
		w.op("MOVQ %s_len+8(FP), DX", w.arguments[0].name)
	}
	w.lastLanes()
	for i, a := range w.arguments {
		w.op("MOVQ %s_base+%d(FP), %s", a.name, first+sliceBytes*i, pointers[i])
	}
	for i, s := range scalars {
		w.scalar(s, first+sliceBytes*len(w.arguments)+4*i)
	}
	if !w.matrix {
		w.columns("done")
	} else {
		w.op("MOVQ rows+0(FP), CX")
		w.op("TESTQ CX, CX")
		w.op("JZ   done")
		w.label("\nrow:")
		w.columns("next")
		w.label("\nnext:")
		w.nextRow()
	}
	w.label("\ndone:")
	w.op("VZEROUPPER")
	w.op("RET")
}

// columns writes the loop over vectors and the last columns of a row, and goes on at
// the label next.
func (w *writer) columns(next string) {
	w.op("XORQ AX, AX")
	w.op("CMPQ AX, BX")
	w.op("JGE  last")
	w.label("\nvector:")
	w.body()
	w.op("ADDQ $%d, AX", w.lanes())
	w.op("CMPQ AX, BX")
	w.op("JLT  vector")
	w.label("\nlast:")
	w.op("CMPQ AX, DX")
	w.op("JGE  %s", next)
	w.masked = true
	w.body()
}

// nextRow moves the slices on, and goes to the next row if there is one.
func (w *writer) nextRow() {
	for i, a := range w.arguments {
		switch {
		case a.other:
			w.op("ADDQ DI, %s", pointers[i])
		case !a.column:
			w.op("ADDQ R15, %s", pointers[i])
		}
	}
	w.op("DECQ CX")
	w.op("JNZ  row")
}

// scalar fills all lanes of a register with an argument.
func (w *writer) scalar(name string, offset int) {
	r := w.register(name)
	w.op("VBROADCASTSS %s+%d(FP), %s", name, offset, w.full(r))
	if w.double {
		w.op("VCVTPS2PD %s, %s", w.half(r), w.full(r))
	}
}

// lastLanes sets BX and the mask of the last columns.
func (w *writer) lastLanes() {
	w.op("MOVQ DX, BX")
	w.op("ANDQ $-%d, BX", w.lanes())
	w.op("MOVQ DX, CX")
	w.op("SUBQ BX, CX")
	if w.set.Wide {
		w.op("MOVL $1, AX")
		w.op("SHLL CX, AX")
		w.op("DECL AX")
		w.op("KMOVW AX, K1")
	} else {
		w.op("LEAQ lastLanes<>+32(SB), AX")
		w.op("SHLQ $2, CX")
		w.op("SUBQ CX, AX")
		w.op("VMOVUPS (AX), Y15")
	}
}

// body writes the program once.
func (w *writer) body() {
	for text := range strings.Lines(w.program) {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		switch op := words[0]; op {
		case "load", "load32":
			w.load(words[1], words[2], op == "load32")
		case "store", "store32":
			w.store(words[1], words[2], op == "store32")
		case "keep":
			w.keep(words[1], words[2], words[3])
		case "round":
			x := w.register(words[2])
			if w.set.Wide {
				w.op("VCVTPD2PS %s, %s", w.full(x), w.half(w.register(words[1])))
			} else {
				w.op("VCVTPD2PSY %s, %s", w.full(x), w.half(w.register(words[1])))
			}
		case "set":
			w.op("VBROADCASTSD %s<>(SB), %s", words[2], w.full(w.register(words[1])))
		case "select":
			w.choose(words[1], words[2], words[3], words[4])
		case "shift":
			w.op("VPSLLQ $%s, %s, %s", words[3], w.full(w.register(words[2])), w.full(w.register(words[1])))
		case "sqrt":
			x := w.register(words[2])
			w.op("VSQRT%s %s, %s", w.suffix(), w.full(x), w.full(w.register(words[1])))
		default:
			w.arithmetic(op, words[1], words[2], words[3])
		}
	}
}

// arithmetic writes dst = x op y.
func (w *writer) arithmetic(op, dst, x, y string) {
	operation, narrow := strings.CutSuffix(op, "32")
	full := w.full
	mnemonic := "V" + strings.ToUpper(operation) + w.suffix()
	if narrow {
		full, mnemonic = w.half, "V"+strings.ToUpper(operation)+"PS"
	}
	switch op {
	case "maxbits":
		mnemonic = "VPMAXUD"
	case "addbits":
		mnemonic = "VPADDQ"
	}
	// The assembler names the operands from the last to the first.
	from, by := full(w.register(x)), full(w.register(y))
	w.op("%s %s, %s, %s", mnemonic, by, from, full(w.register(dst)))
}

// keep writes dst = x where not by ≤ 0, else 0; a NaN is not ≤ 0. The predicate 6
// is "not less or equal, or unordered".
func (w *writer) keep(dst, x, by string) {
	source, compared, to := w.full(w.register(x)), w.full(w.register(by)), w.full(w.register(dst))
	if w.set.Wide {
		w.op("VXORPS Z31, Z31, Z31")
		w.op("VCMPPS $6, Z31, %s, K2", compared)
		w.op("VMOVAPS.Z %s, K2, %s", source, to)
		return
	}
	w.op("VXORPS Y14, Y14, Y14")
	w.op("VCMPPS $6, Y14, %s, Y14", compared)
	w.op("VANDPS Y14, %s, %s", source, to)
}

// choose writes dst = x where by has no sign, else y, of float64.
func (w *writer) choose(dst, by, x, y string) {
	sign, to := w.full(w.register(by)), w.full(w.register(dst))
	from, other := w.full(w.register(x)), w.full(w.register(y))
	if w.set.Wide {
		w.op("VPMOVQ2M %s, K2", sign)
		w.op("VBLENDMPD %s, %s, K2, %s", other, from, to)
		return
	}
	w.op("VBLENDVPD %s, %s, %s, %s", sign, other, from, to)
}

// load fills a register from the argument called name, turning float32 into
// float64 in double kernels unless narrow.
func (w *writer) load(register, name string, narrow bool) {
	a, from := w.argument(name)
	r := w.register(register)
	to, mnemonic := w.full(r), "VMOVUPS"
	if a.wide {
		mnemonic = "VMOVUPD"
	} else if w.double {
		to = w.half(r)
	}
	switch {
	case !w.masked:
		w.op("%s %s, %s", mnemonic, from, to)
	case w.set.Wide:
		w.op("%s.Z %s, K1, %s", mnemonic, from, to)
	default:
		w.op("%s %s, %s, %s", w.maskedMove(a), from, w.mask(a), to)
	}
	if w.double && !a.wide && !narrow {
		w.op("VCVTPS2PD %s, %s", to, w.full(r))
	}
}

// store is the reverse of load; a wide value goes to a wide argument only.
func (w *writer) store(register, name string, narrow bool) {
	a, to := w.argument(name)
	if w.double && narrow == a.wide {
		panic("asmgen: " + w.name + " stores " + register + " in " + name + " without rounding it")
	}
	r := w.register(register)
	from, mnemonic := w.full(r), "VMOVUPS"
	if a.wide {
		mnemonic = "VMOVUPD"
	} else if narrow {
		from = w.half(r)
	}
	switch {
	case !w.masked:
		w.op("%s %s, %s", mnemonic, from, to)
	case w.set.Wide:
		w.op("%s %s, K1, %s", mnemonic, from, to)
	default:
		w.op("%s %s, %s, %s", w.maskedMove(a), from, w.mask(a), to)
	}
}

// argument returns the argument called name and the operand of its elements from
// column AX on.
func (w *writer) argument(name string) (argument, string) {
	i := slices.IndexFunc(w.arguments, func(a argument) bool { return a.name == name })
	if i < 0 {
		panic("asmgen: " + w.name + " has no argument " + name)
	}
	size := 4
	if w.arguments[i].wide {
		size = 8
	}
	return w.arguments[i], fmt.Sprintf("(%s)(AX*%d)", pointers[i], size)
}

// maskedMove returns AVX2's move of an argument's last columns.
func (w *writer) maskedMove(a argument) string {
	if a.wide {
		return "VMASKMOVPD"
	}
	return "VMASKMOVPS"
}

// mask returns the register with AVX2's mask for an argument. A double kernel has
// four lanes, whose mask in words is X15; that of float64 is made of it.
func (w *writer) mask(a argument) string {
	switch {
	case a.wide:
		w.op("VPMOVSXDQ X15, Y14")
		return "Y14"
	case w.double:
		return "X15"
	}
	return "Y15"
}

// register returns the number of the register that has a name in the program.
func (w *writer) register(name string) int {
	r, ok := w.registers[name]
	if !ok {
		r = len(w.registers)
		if r > 13 {
			panic("asmgen: " + w.name + " needs too many registers")
		}
		w.registers[name] = r
	}
	return r
}

// full returns a register of the set, half the register of half the width.
func (w *writer) full(r int) string { return w.set.reg(r) }

func (w *writer) half(r int) string {
	if w.set.Wide {
		return fmt.Sprint("Y", r)
	}
	return fmt.Sprint("X", r)
}

// suffix returns the end of a mnemonic that says what its lanes are.
func (w *writer) suffix() string {
	if w.double {
		return "PD"
	}
	return "PS"
}

package main

import (
	"fmt"
	"math"
	"strings"
)

// constant is a float64, or its bits, that a program sets a register to.
type constant struct {
	name string
	bits uint64
	what string
}

// Terms of the two series of the cross-entropy; see algo/numeric/kernel/nn/loss.go.
const (
	expTerms = 14
	logTerms = 17
)

var constants = entropyConstants()

func entropyConstants() (all []constant) {
	number := func(name string, x float64, what string) {
		all = append(all, constant{name, math.Float64bits(x), what})
	}
	number("zero", 0, "0")
	number("one", 1, "1")
	number("two", 2, "2")
	all = append(all,
		constant{"magnitude", 1<<63 - 1, "all bits but the sign"},
		constant{"bias", 1023, "of an exponent"})
	number("logitMost", 700, "e⁻⁷⁰⁰ is no denormal")
	number("minusLog2e", -math.Log2E, "−log₂ e")
	number("wholeNumber", 0x1.8p52, "1.5·2⁵², whose last bit is 1")
	all = append(all,
		constant{"ln2High", 0x3fe62e42fee00000, "ln 2, the first 32 bits"},
		constant{"ln2Low", 0x3dea39ef35793c76, "and the rest"})
	factorial := 1.0
	for i := range expTerms {
		if i > 0 {
			factorial *= -float64(i)
		}
		number(fmt.Sprint("exp", i), 1/factorial, fmt.Sprintf("(−1)^%d/%[1]d!", i))
	}
	for i := range logTerms {
		number(fmt.Sprint("log", i), 2/float64(2*i+1), fmt.Sprintf("2/%d", 2*i+1))
	}
	return all
}

// series returns the instructions that make p the series of the terms called name
// in x, by Horner's rule.
func series(p, x, name string, terms int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "set %s %s%d\n", p, name, terms-1)
	for i := terms - 2; i >= 0; i-- {
		fmt.Fprintf(&b, "mul %s %[1]s %s\nset t %s%d\nadd %[1]s %[1]s t\n", p, x, name, i)
	}
	return b.String()
}

// entropy is the program of nn.CrossEntropy, step by step as in entropyOf.
var entropy = `
	load z logits
	set t magnitude
	and a z t
	set t logitMost
	min a t a
	set t minusLog2e
	mul k a t
	set t wholeNumber
	add k k t
	sub f k t
	set t bias
	addbits k k t
	shift k k 52
	set t ln2High
	mul r f t
	add r a r
	set t ln2Low
	mul f f t
	add r r f
	` + series("p", "r", "exp", expTerms) + `
	mul p p k
	set t two
	add s t p
	div s p s
	mul r s s
	` + series("f", "r", "log", logTerms) + `
	mul f f s
	set t zero
	max a t z
	load y labels
	mul s z y
	sub a a s
	add a a f
	load w weights
	mul a w a
	store a losses
	set t one
	add s t p
	select r z t p
	div r r s
	sub r r y
	mul r w r
	round r r
	store32 r grad`

package main

// vecLoops are the loops of package vec. The formula is the comment of the declaration;
// the program computes one vector of it.
var vecLoops = []loop{
	{name: "add", formula: "dst += x", arguments: "dst x", program: `
		load d dst
		load x x
		add d d x
		store d dst`},
	{name: "copyRows", matrix: true, formula: "dst = src", arguments: "dst src:other", program: `
		load x src
		store x dst`},
	{name: "addRows", matrix: true, formula: "dst += src", arguments: "dst src:other", program: `
		load d dst
		load x src
		add d d x
		store d dst`},
	{name: "axpy", formula: "dst += alpha·x", arguments: "dst x", scalars: "alpha", program: `
		load x x
		mul x alpha x
		load d dst
		add d d x
		store d dst`},
	{name: "scale", formula: "x *= factor", arguments: "x", scalars: "factor", program: `
		load x x
		mul x x factor
		store x x`},
	{name: "divide", formula: "x /= divisor", arguments: "x", scalars: "divisor", program: `
		load x x
		div x x divisor
		store x x`},
	{name: "quotient", formula: "dst = x / divisor", arguments: "dst x", scalars: "divisor", program: `
		load x x
		div x x divisor
		store x dst`},
	{name: "sumFour", formula: "a = (a+b) + (c+d)", arguments: "a b c d", program: `
		load a a
		load b b
		add a a b
		load c c
		load d d
		add c c d
		add a a c
		store a a`},
	{name: "sumEight", formula: "x1 = ((x1+x2) + (x3+x4)) + ((x5+x6) + (x7+x8))",
		arguments: "x1 x2 x3 x4 x5 x6 x7 x8", program: `
		load a x1
		load b x2
		add a a b
		load c x3
		load d x4
		add c c d
		add a a c
		load e x5
		load f x6
		add e e f
		load g x7
		load h x8
		add g g h
		add e e g
		add a a e
		store a x1`},
	{name: "addBias", matrix: true, formula: "x += bias", arguments: "x bias:column", program: `
		load x x
		load b bias
		add x x b
		store x x`},
	{name: "columnSum", matrix: true, formula: "sum += x", arguments: "sum:column x", program: `
		load s sum
		load x x
		add s s x
		store s sum`},

	// Checks. A float32 is not finite if all bits of its exponent are set.
	{name: "largestExponent", matrix: true,
		formula:   "largest = max(largest, exponent bits of x), as unsigned integers",
		arguments: "largest:column x", scalars: "exponent", program: `
		load x x
		and x x exponent
		load l largest
		maxbits l l x
		store l largest`},

	// Sums in float64.
	{name: "squares", matrix: true, formula: "sum += x²",
		arguments: "sum:column64 x", double: true, program: `
		load x x
		mul x x x
		load s sum
		add s s x
		store s sum`},
}

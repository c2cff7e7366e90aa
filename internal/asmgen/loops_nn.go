package main

// nnLoops are the loops of package nn. The formula is the comment of the declaration;
// the program computes one vector of it.
var nnLoops = []loop{
	{name: "gate", formula: "out = x·y + z", arguments: "out x y z", program: `
		load x x
		load y y
		mul x x y
		load z z
		add x x z
		store x out`},
	{name: "gateBackward", formula: "gradX += grad·y, then gradY += grad·x, then gradZ += grad",
		arguments: "gradX gradY gradZ grad x y", program: `
		load g grad
		load y y
		mul y g y
		load to gradX
		add to to y
		store to gradX
		load x x
		mul x g x
		load to gradY
		add to to x
		store to gradY
		load to gradZ
		add to to g
		store to gradZ`},
	{name: "rectify", formula: "x = 0 where x ≤ 0", arguments: "x", program: `
		load x x
		keep x x x
		store x x`},
	{name: "addBiasRectify", matrix: true, formula: "x += bias, then 0 where x ≤ 0",
		arguments: "x bias:column", program: `
		load x x
		load b bias
		add x x b
		keep x x x
		store x x`},
	{name: "mask", formula: "grad = 0 where out ≤ 0", arguments: "grad out", program: `
		load g grad
		load o out
		keep g g o
		store g grad`},
	{name: "maskSum", matrix: true, formula: "grad = 0 where out ≤ 0, then sum += grad",
		arguments: "grad out sum:column", program: `
		load g grad
		load o out
		keep g g o
		store g grad
		load s sum
		add s s g
		store s sum`},

	// The optimizers.
	{name: "descend", formula: "w -= rate·grad", arguments: "w grad", scalars: "rate", program: `
		load g grad
		mul g rate g
		load w w
		sub w w g
		store w w`},
	{name: "adagradAfter", formula: "sum += grad², then w -= rate·grad / (√sum + epsilon)",
		arguments: "w sum grad", scalars: "rate epsilon", program: `
		load g grad
		load s sum
		mul t g g
		add s s t
		store s sum
		sqrt s s
		add s s epsilon
		mul g rate g
		div g g s
		load w w
		sub w w g
		store w w`},
	{name: "adagradBefore", formula: "w -= rate·grad / √(sum + epsilon), then sum += grad²",
		arguments: "w sum grad", scalars: "rate epsilon", program: `
		load g grad
		load s sum
		add root s epsilon
		sqrt root root
		mul t g g
		add s s t
		store s sum
		mul g rate g
		div g g root
		load w w
		sub w w g
		store w w`},
	{name: "adam", formula: "mean, square = their decaying means; w -= rate·mean / (root·√square + epsilon)",
		arguments: "w mean square grad", scalars: "rate root epsilon beta1 beta2 rest1 rest2", program: `
		load g grad
		load m mean
		mul m beta1 m
		mul t rest1 g
		add m m t
		store m mean
		load s square
		mul s beta2 s
		mul t rest2 g
		mul t t g
		add s s t
		store s square
		sqrt s s
		mul s root s
		add s s epsilon
		mul m rate m
		div m m s
		load w w
		sub w w m
		store w w`},

	// Sums in float64.
	{name: "columnSum64", matrix: true, formula: "sum += x",
		arguments: "sum:column64 x", double: true, program: `
		load x x
		load s sum
		add s s x
		store s sum`},
	{name: "deviations", matrix: true, formula: "sum += (x − mean)²",
		arguments: "sum:column64 x mean:column64", double: true, program: `
		load x x
		load m mean
		sub x x m
		mul x x x
		load s sum
		add s s x
		store s sum`},
	{name: "moments", matrix: true, formula: "sum += x, squares += x²",
		arguments: "sum:column64 squares:column64 x", double: true, program: `
		load x x
		load s sum
		add s s x
		store s sum
		mul x x x
		load s squares
		add s s x
		store s squares`},

	// Batch norm. Rounded values are float32, and so is everything computed from them.

	{name: "normalize", matrix: true,
		formula:   "normalized = (x − mean)·inverse rounded; out = gamma·normalized + beta",
		arguments: "out normalized x mean:column64 inverse:column64 gamma:column beta:column",
		double:    true, program: `
		load x x
		load m mean
		sub x x m
		load i inverse
		mul x x i
		round n x
		store32 n normalized
		load32 g gamma
		mul32 n g n
		load32 b beta
		add32 n n b
		store32 n out`},
	{name: "normBackwardSums", matrix: true, formula: "sum += grad, dot += grad·normalized",
		arguments: "sum:column64 dot:column64 grad normalized", double: true, program: `
		load g grad
		load s sum
		add s s g
		store s sum
		load n normalized
		mul n g n
		load s dot
		add s s n
		store s dot`},
	{name: "normBackward", matrix: true, formula: "grad = scale·(grad − sum − normalized·dot)",
		arguments: "grad normalized scale:column64 sum:column64 dot:column64", double: true, program: `
		load g grad
		load s sum
		sub g g s
		load n normalized
		load d dot
		mul n n d
		sub g g n
		load s scale
		mul g s g
		round g32 g
		store32 g32 grad`},

	{name: "crossEntropy", formula: "losses and grad as in nn.CrossEntropy",
		arguments: "losses:column64 grad logits labels weights", double: true, program: entropy},
	{name: "pairSumBackward", matrix: true, formula: "gradX += factor·(sum − x) rounded",
		arguments: "gradX x sum:column64", scalars: "factor", double: true, program: `
		load s sum
		load x x
		sub s s x
		mul s factor s
		round t s
		load32 g gradX
		add32 g g t
		store32 g gradX`},
}

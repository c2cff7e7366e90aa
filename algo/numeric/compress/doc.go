// Package compress makes the payloads of messages smaller: numbers as fp16,
// with some loss, and ids and signs as bits, without any.
//
// # Numbers
//
// FP16 casts every value to the nearest half, ties to even. FP16Block scales
// each block of BlockValues neighbouring values v by s before the cast and
// undoes it behind it. Persia scales by κ/‖v‖∞; here s is the largest power of
// two below κ/‖v‖∞ with κ = 2¹⁵, because multiplying by a power of two rounds
// nothing, so that all of the loss is the cast's:
//
//	|x̂ − x| ≤ 2⁻¹¹·|x| + 2⁻³⁹·‖v‖∞
//
// A plain cast keeps that precision only of values between 2⁻¹⁴ and 65,504,
// and embedding gradients are often below. A block costs one byte more.
//
// A value too large for its form becomes ±Inf, as IEEE 754 has it, and NaN and
// ±Inf stay what they are. Persia's code replaces them by ±65,504, which turns
// a gradient silently into another one; here the check for finite gradients,
// which runs on what was received, sees them and stops the run.
//
// # Ids and signs
//
// A column of ids is stored as the distinct ids and, for every occurrence, its
// position among them, in as many bits as that takes, or, where that is
// smaller, as the ids themselves in as many bits as their range takes. The
// latter is what signs get, slot by slot: they are distinct already, and their
// order, which decides in which order rows are created, costs as many bits to
// restore as sorting would save.
//
// Decoders trust nothing: what they allocate is bounded by the length of their
// input and by what the caller knows to come.
package compress

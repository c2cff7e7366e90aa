// Package compress encodes the payloads of messages in fewer bytes: values as fp16, with some loss, and ids
// and signs as bit-packed integers, without loss.
//
// # Values
//
// FP16 casts every value to the nearest half, ties to even. FP16Block multiplies each block v of BlockValues
// neighbouring values by a scale s before the cast; Unpack divides by s. Persia scales by κ/‖v‖∞. Here s is
// the largest power of two below κ/‖v‖∞ with κ = 2¹⁵, because multiplying by a power of two rounds nothing,
// so that only the cast loses precision:
//
//	|x̂ − x| ≤ 2⁻¹¹·|x| + 2⁻³⁹·‖v‖∞
//
// A plain cast has that precision only for values between 2⁻¹⁴ and 65,504, and embedding gradients are often
// smaller. A block costs one byte more.
//
// A value too large for its form becomes ±Inf, as IEEE 754 defines, and NaN and ±Inf stay unchanged. Persia's
// code replaces them by ±65,504, which silently changes a gradient; here the receiver's check for finite
// gradients finds them and stops the run.
//
// # Ids and signs
//
// A column of ids is stored as its distinct ids and the position of every occurrence among them, or, if that
// is smaller, as the ids themselves; each list takes as many bits a number as its range needs. Signs are
// stored in the second way, slot by slot, because they are distinct already, and because their order, in
// which rows are created, would take as many bits to restore as sorting saves.
//
// Decoders do not trust their input: the memory that they allocate is bounded by the length of the input and
// by the counts that the caller expects.
//
// # Decisions
//
//   - Payloads are packed by the work that makes them. So a repeated message has the same bytes, bad bytes
//     fail one piece of work, and roles and simulator see the true sizes. Packing takes a lane of the
//     executor.
//   - Bit packing of parquet-go pads, and trusts the lengths that it reads. Here a list is packed as
//     differences from its least value, without padding, and the lengths that a peer claims are checked.
//   - Half precision takes forty lines. The float16 of Arrow would need its module.
package compress

// Package mutate checks the tests: it changes one place of the code at a time, and expects some test to fail.
// Such a change is a mutant; a mutant is killed if a test fails or runs out of time, and survives if all
// tests pass.
//
//	go test ./internal/mutate -long -timeout 2h -v             # the whole draw
//	go test ./internal/mutate -long -v -seed 2                 # another draw
//	go test ./internal/mutate -long -v -only table,metric      # two packages
//	go test ./internal/mutate -long -v -part outside -share 40 # fewer, and none of the core
//	go test ./internal/mutate -long -v -only role/drop-factor/0f3c5a7e # one, by its ID in the report
//
// A mutant is a factor dropped, 1 added to an integer, rank and step swapped, a release or a call deleted, a
// comparison changed or a condition negated (operators.go).
//
// # Which mutants
//
//   - Listed mutants are mistakes that once survived (listed.go). All must be killed.
//   - Others are drawn by a seed from all places to which an operator applies. Of those in the core, the
//     numerics, replay and the metrics 95 % must be killed, of those in transport, checkpoints, exports, data
//     sets, the server and the simulator 90 %. Core and Outside (plan.go) state how many are drawn from each
//     area, and which tests of other packages run if the package's own tests pass.
//   - A mutant leaves the draw only with a proof that it behaves as the original (equivalents.go). The next
//     one of the draw takes its place.
//
// The draw depends on the seed and on the text of the lines only: an edit of other code hardly changes it. A
// mutant that does not compile is replaced by the next one, too. One whose tests run five times as long as
// usual counts as killed.
//
// Mutants are built with the -overlay flag of the go command from files in a temporary folder, so the working
// tree stays as it is. The tree must not change during a run. Property tests run with a fixed seed, so a run
// can be repeated.
//
// # Tests that kill
//
// Test each claim taken from a paper first; a mutant that survives reveals an untested claim. Write the test
// for the claim, not for the line.
package mutate

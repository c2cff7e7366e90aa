// Package mutate checks the tests: it changes one place of the code at a time,
// and expects some test to fail. Such a change is a mutant; a mutant is killed
// if a test fails or runs out of time, and survives if all tests pass.
//
//	go test ./internal/mutate -long -timeout 2h -v             # the whole draw
//	go test ./internal/mutate -long -v -seed 2                 # another draw
//	go test ./internal/mutate -long -v -only table,metric      # two packages
//	go test ./internal/mutate -long -v -only role/drop-factor/0f3c5a7e
//
// The mutants are the listed ones (listed.go), which must all be killed, and a draw from all places to which
// an operator applies (operators.go), of which 95 % must be killed. Subjects (plan.go) states how many are
// drawn from each package, and which tests run. The draw depends on the seed and on the text of the lines
// only: an edit of other code hardly changes it. A mutant that does not compile is replaced by the next one
// of the draw, and so is a mutant that equivalents.go proves to be equivalent to the original.
//
// Mutants are built with the -overlay flag of the go command from files in a
// temporary folder, so the working tree stays as it is. The tree must not change
// during a run. Property tests run with a fixed seed, so a run can be repeated.
package mutate

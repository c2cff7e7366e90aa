package mutate

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
)

// Draw orders candidates as a seed draws them: the operators take
// turns, and the mutants of an operator follow a hash of seed and ID. So a
// mutant's place depends on the other lines of the code only through how many
// mutants precede it.
func Draw(candidates []Mutant, seed uint64) []Mutant {
	hashes := make(map[string][sha256.Size]byte, len(candidates))
	byOperator := map[string][]Mutant{}
	for _, m := range candidates {
		hashes[m.ID] = sha256.Sum256([]byte(strconv.FormatUint(seed, 10) + " " + m.ID))
		byOperator[m.Operator] = append(byOperator[m.Operator], m)
	}
	for _, operator := range operators() {
		slices.SortFunc(byOperator[operator], func(a, b Mutant) int {
			x, y := hashes[a.ID], hashes[b.ID]
			return bytes.Compare(x[:], y[:])
		})
	}
	drawn := make([]Mutant, 0, len(candidates))
	for turn := 0; len(drawn) < len(candidates); turn++ {
		for _, operator := range operators() {
			if of := byOperator[operator]; turn < len(of) {
				drawn = append(drawn, of[turn])
			}
		}
	}
	return drawn
}

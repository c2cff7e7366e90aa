package batch_test

import "testing"

// Persia checks that a prefix of b bits fits by shifting alone: more than 2^b − 1
// feature groups wrap around, and share rows, in silence.
func TestPersiasMistakePrefixesWrapAround(t *testing.T) {
	if err := slots(255, 8).Validate(); err != nil {
		t.Error(err)
	}
	if err := slots(256, 8).Validate(); err == nil {
		t.Error("256 feature groups with a prefix of 8 bits are accepted")
	}
}

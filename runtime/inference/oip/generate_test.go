package oip

import (
	"testing"

	"tandem/internal/prototest"
)

// The Go code must be the one that is generated from oip.proto.
func TestCodeIsGenerated(t *testing.T) { prototest.Generated(t, "oip") }

//go:build !amd64

package kernel

import "tandem/algo/numeric/isa"

// assemblyOf returns nil: there is none for this processor.
func assemblyOf(isa.Set) *assembly { return nil }

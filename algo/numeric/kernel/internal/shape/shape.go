// Package shape checks the lengths of the slices that the kernels get. A wrong length
// is a mistake of the caller and panics with both lengths.
package shape

import "fmt"

// AtLeast panics unless the slice called name has at least want elements.
func AtLeast(name string, got, want int) {
	if got < want {
		panic(fmt.Sprintf("kernel: len(%s) = %d, want at least %d", name, got, want))
	}
}

// Equal panics unless the slice called name has exactly want elements.
func Equal(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("kernel: len(%s) = %d, want %d", name, got, want))
	}
}

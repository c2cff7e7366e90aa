//go:build !amd64

package probe

// multiplyAdd is never called: other processors have the portable set alone.
func multiplyAdd(int) {}

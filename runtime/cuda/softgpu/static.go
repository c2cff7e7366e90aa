//go:build static || !linux || !(amd64 || arm64)

package softgpu

import "testing"

const supported = false

// Set skips the test: this program cannot open libraries.
func Set(t testing.TB, name, value string) {
	t.Helper()
	Folder(t)
}

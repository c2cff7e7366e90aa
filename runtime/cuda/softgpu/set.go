//go:build !static && linux && (amd64 || arm64)

package softgpu

import (
	"testing"

	"github.com/ebitengine/purego"
)

const supported = true

// Set changes a setting of the software GPU in this process until the end of the test. Tests that set the
// same one must not run at the same time.
func Set(t testing.TB, name, value string) {
	t.Helper()
	library, err := purego.Dlopen(Libraries(t).Driver, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	var set func(name, value string)
	var get func(name string) string
	purego.RegisterLibFunc(&set, library, "softgpuSet")
	purego.RegisterLibFunc(&get, library, "softgpuGet")
	before := get(name)
	set(name, value)
	t.Cleanup(func() { set(name, before) })
}

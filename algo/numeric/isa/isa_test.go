package isa_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"tandem/algo/numeric/isa"
)

// A process that GODEBUG forbids instructions does not use them.
func TestGODEBUGTakesInstructionsAway(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors have one set")
	}
	if forbidden := os.Getenv("ISA_TEST"); forbidden != "" {
		os.Stdout.WriteString(isa.Best().String() + "\n")
		os.Exit(0)
	}
	for _, tt := range []struct {
		setting string
		most    isa.Set
	}{{"cpu.avx512f=off", isa.AVX2}, {"cpu.avx2=off", isa.Portable}} {
		child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), "ISA_TEST=1",
			"GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+","+tt.setting, ","))
		output, err := child.Output()
		if want := min(tt.most, isa.Best()).String() + "\n"; err != nil || string(output) != want {
			t.Errorf("GODEBUG=%s: %q, %v; want %q", tt.setting, output, err, want)
		}
	}
}

func TestSetsEndWithTheBest(t *testing.T) {
	sets := isa.Sets()
	if sets[0] != isa.Portable || sets[len(sets)-1] != isa.Best() {
		t.Errorf("sets %v, best %v", sets, isa.Best())
	}
}

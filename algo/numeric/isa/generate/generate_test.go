// Package generate_test writes the assembly that is alike for several sets of
// vector instructions, from one template.
package generate_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"text/template"
)

var rewrite = flag.Bool("rewrite", false, "make the files anew")

// A set is what a template knows of a set of vector instructions.
type set struct {
	Name  string // as in the names of functions
	Wide  bool   // it has masks and 32 registers
	R     string // what the names of registers begin with
	Lanes int    // float32 in a register
	Last  int    // Lanes − 1
	Forms []form // of the values of rows
	// Whole and Rest move all lanes, or those of a mask.
	Whole, Rest move
}

// A form is a precision of values.
type form struct {
	Name  string
	Bytes int
}

// data is what templates are filled with.
func data() map[string]any {
	type step struct{ At, Step uint32 }
	var counts []step
	for i := range uint32(16) {
		counts = append(counts, step{4 * i, i * 0x9e3779b9})
	}
	return map[string]any{"Sets": sets(), "Counts": counts, "Narrow": []string{"BF16", "FP16"}}
}

// A move is how values come into registers and out of them.
type move struct {
	Wide              bool
	R                 string
	Load, Store, Mask string
}

func sets() []set {
	forms := []form{{"FP32", 4}, {"BF16", 2}, {"FP16", 2}}
	return []set{
		{"AVX512", true, "Z", 16, 15, forms, move{true, "Z", "VMOVUPS", "VMOVUPS", ""}, move{true, "Z", "VMOVUPS.Z", "VMOVUPS", "K1, "}},
		{"AVX2", false, "Y", 8, 7, forms, move{false, "Y", "VMOVUPS", "VMOVUPS", ""}, move{false, "Y", "VMASKMOVPS", "VMASKMOVPS", "Y15, "}},
	}
}

// The committed assembly is that of the templates.
func TestAssemblyIsGenerated(t *testing.T) {
	for _, file := range []string{"../../table/kernel_amd64.s", "../../opt/row_amd64.s", "../../../../experiments/speed/bare/bare_amd64.s"} {
		source := filepath.Join(filepath.Dir(file), "testdata", filepath.Base(file)+".tmpl")
		var want bytes.Buffer
		if err := template.Must(template.ParseFiles(source)).Execute(&want, data()); err != nil {
			t.Fatal(err)
		}
		if *rewrite {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what %s makes: run go generate ./algo/numeric/isa/generate", file, source)
		}
	}
}

//go:generate go test -rewrite

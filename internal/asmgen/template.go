package main

import (
	"embed"
	"strings"
	"text/template"
)

//go:embed *.s.tmpl
var templates embed.FS

// A templateSet is what a template knows of a set of vector instructions.
type templateSet struct {
	set
	Last  int // Lanes − 1
	Forms []form
	// Whole and Rest move all lanes, or the lanes of a mask.
	Whole, Rest move
}

// A form is a precision of values.
type form struct {
	Name  string
	Bytes int
}

// A move names the instructions that load and store values.
type move struct {
	Wide              bool
	R                 string
	Load, Store, Mask string
}

func templateSets() (all []templateSet) {
	forms := []form{{"FP32", 4}, {"BF16", 2}, {"FP16", 2}}
	for _, s := range sets {
		whole := move{s.Wide, s.R, "VMOVUPS", "VMOVUPS", ""}
		rest := move{s.Wide, s.R, "VMOVUPS.Z", "VMOVUPS", "K1, "}
		if !s.Wide {
			rest = move{s.Wide, s.R, "VMASKMOVPS", "VMASKMOVPS", "Y15, "}
		}
		all = append(all, templateSet{s, s.Lanes - 1, forms, whole, rest})
	}
	return all
}

// A block is columns of a vector that are in registers at a time.
type block struct {
	Name      string
	Columns   int // at least
	Registers []int
	Part      bool // of one register, as many columns as are left
}

var blocks = []block{{"Four", 32, []int{0, 1, 2, 3}, false}, {"Two", 16, []int{0, 1}, false},
	{"One", 8, []int{0}, false}, {"Part", 1, []int{0}, true}}

// A laneConstant is a number in every lane of an AVX2 register.
type laneConstant struct {
	Name, Value string
	Lanes       []int // their bytes
}

// narrowing are the constants that round to half precision.
func narrowing() (all []laneConstant) {
	for _, c := range [][2]string{
		{"eightSteps", "0xf1bbcdc8"}, {"firstMixer", "0x7feb352d"}, {"secondMixer", "0x846ca68b"},
		{"size", "0x7fffffff"}, {"infinity", "0x7f800000"},
		{"randomBF16", "0xffff"}, {"largestBF16", "0x7f7f"}, {"nanBF16", "0x7fc0"},
		{"randomFP16", "0x1fff"}, {"nanFP16", "0x7fc00000"},
		{"largestFP16", "0x477fffff"}, // is cut off to the largest
		{"normalFP16", "0x38800000"},  // the smallest that is normal
		{"lastFP16", "0x2d000000"},    // 2⁻³⁷
	} {
		all = append(all, laneConstant{c[0], c[1], []int{0, 4, 8, 12, 16, 20, 24, 28}})
	}
	return all
}

// fill returns the assembly of a template.
func fill(name string) []byte {
	type step struct{ At, Step uint32 }
	var counts []step
	for i := range uint32(16) {
		counts = append(counts, step{4 * i, i * 0x9e3779b9})
	}
	var b strings.Builder
	data := map[string]any{
		"Sets": templateSets(), "Counts": counts, "Narrow": []string{"BF16", "FP16"},
		"Blocks": blocks, "Constants": narrowing(),
		"Sums": []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, // of the loop of multiply-adds
	}
	if err := template.Must(template.ParseFS(templates, name)).Execute(&b, data); err != nil {
		panic(err)
	}
	return []byte(header + amd64Only + b.String())
}

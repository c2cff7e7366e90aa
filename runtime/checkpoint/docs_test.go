package checkpoint

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/algo/numeric/table"
)

// fieldsOf returns the paths of the fields of a type, as its JSON names them, in their order.
func fieldsOf(t reflect.Type, path string) (all []string) {
	if path != "" {
		all = append(all, path)
	}
	if t.Kind() == reflect.Slice {
		if t.Elem().Kind() != reflect.Uint8 {
			all[len(all)-1] += "[]"
			all = append(all, fieldsOf(t.Elem(), path+"[]")[1:]...)
		}
		return all
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "time" {
		return all
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		all = append(all, fieldsOf(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return all
}

// The page of the files of a model lists every field of the manifest and every column of the rows, in order,
// and nothing else.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/model-files.md")
	if err != nil {
		t.Fatal(err)
	}
	names := func(heading string) (all []string) {
		_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
			all = append(all, m[1])
		}
		return all
	}
	want := fieldsOf(reflect.TypeFor[Manifest](), "")
	if got := names("manifest.json"); !slices.Equal(got, want) {
		t.Errorf("the page lists the fields %q, want %q", got, want)
	}
	var columns []string
	for _, f := range rowFields(1, table.FP32, 1, true) {
		columns = append(columns, f.Name)
	}
	if got := names("Rows"); !slices.Equal(got, columns) {
		t.Errorf("the page lists the columns %q, want %q", got, columns)
	}
	tensors := []string{modelPrefix + "<name>", runningTensor}
	for _, name := range []string{partParameters, runningTensor, partOptimizer, partPending} {
		tensors = append(tensors, strings.Replace(partTensor(0, name), "0", "<i>", 1))
	}
	if got := names("The dense network"); !slices.Equal(got, tensors) {
		t.Errorf("the page lists the tensors %q, want %q", got, tensors)
	}
}

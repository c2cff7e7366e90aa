package notebooks

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/internal/build"
)

// program collects the Go code of a notebook. As in gonb, all cells share their declarations and imports, and
// the code after a line %% is a main function.
type program struct {
	imports      []string // specs, in order
	declarations strings.Builder
	mains        []int // the cells with a main function
}

// add appends one cell without its lines of shell and kernel commands.
func (p *program) add(number int, source string) error {
	var declared, body strings.Builder
	part := &declared
	for line := range strings.Lines(source) {
		switch word := strings.TrimSpace(line); {
		case word == "%%" || word == "%main":
			part = &body
			line = "\n"
		case strings.HasPrefix(word, "!") || strings.HasPrefix(word, "%"):
			line = "\n" // keeps line numbers
		}
		part.WriteString(line)
	}
	rest, err := p.takeImports(fmt.Sprintf("cell %d", number), declared.String())
	if err != nil {
		return err
	}
	fmt.Fprintf(&p.declarations, "\n//line cell_%d.go:1\n%s\n", number, rest)
	if body.Len() > 0 {
		above := strings.Count(declared.String(), "\n")
		const function = "\nfunc main%d() {\n//line cell_%d.go:%d\n%s\n}\n"
		fmt.Fprintf(&p.declarations, function, number, number, above+1, body.String())
		p.mains = append(p.mains, number)
	}
	return nil
}

// takeImports moves the imports of a cell into p and returns the rest of the cell.
func (p *program) takeImports(name, source string) (string, error) {
	const clause = "package main;"
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, clause+source, 0)
	if err != nil {
		return "", err
	}
	rest := []byte(source)
	for _, declaration := range parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.IMPORT {
			continue
		}
		for i := set.Position(group.Pos()).Offset; i < set.Position(group.End()).Offset; i++ {
			if at := i - len(clause); rest[at] != '\n' {
				rest[at] = ' '
			}
		}
	}
	for _, spec := range parsed.Imports {
		line := spec.Path.Value
		if spec.Name != nil {
			line = spec.Name.Name + " " + line
		}
		if !slices.Contains(p.imports, line) {
			p.imports = append(p.imports, line)
		}
	}
	return string(rest), nil
}

// text returns the source of a program that runs the cell whose number is its argument. As in gonb, the
// variables of a cell do not outlive its run.
func (p *program) text() string {
	var text strings.Builder
	text.WriteString("// Command notebook is a notebook as a program.\npackage main\n")
	fmt.Fprintf(&text, "\nimport (\nnotebook \"os\"\n%s\n)\n", strings.Join(p.imports, "\n"))
	text.WriteString("\nfunc main() {\nswitch notebook.Args[1] {\n")
	for _, number := range p.mains {
		fmt.Fprintf(&text, "case \"%d\":\nmain%d()\n", number, number)
	}
	text.WriteString("}\n}\n")
	text.WriteString(p.declarations.String())
	return text.String()
}

// assemble returns the program of a notebook.
func assemble(t *testing.T, n *notebook) *program {
	t.Helper()
	var p program
	for i := range n.Cells {
		if c := &n.Cells[i]; c.Type == "code" {
			if err := p.add(i, string(c.Source)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &p
}

// build vets and builds a program and returns its file. The program is a package of this module, and needs
// the module of the kernel besides.
func (p *program) build(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	const kernel = "github.com/janpfeifer/gonb"
	required := fmt.Sprintf("%s\nrequire %s v0.0.0\nreplace %[2]s => %q\n", module, kernel,
		filepath.Join(repository, "notebooks", "testdata", "gonb"))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(repository, "notebooks", "testdata", "main.go"): filepath.Join(folder, "main.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": required, "go.sum": string(sums), "main.go": p.text(), "overlay.json": string(overlay),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "notebook")
	arguments := []string{"-modfile=" + filepath.Join(folder, "go.mod"),
		"-overlay=" + filepath.Join(folder, "overlay.json"), "tandem/notebooks/testdata"}
	// Where there are no tests, go test only vets, with what it has found in other packages for their own
	// tests; go vet checks more, and would look at all packages again.
	vet := exec.Command("go", append([]string{"test"}, arguments...)...)
	if printed, err := vet.CombinedOutput(); err != nil {
		t.Fatalf("go test: %v\n%s", err, printed)
	}
	if err := build.Program(t.Context(), file, arguments...); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a program cell by cell in the folder of the notebooks and returns the outputs of all code cells.
func (p *program) run(t *testing.T, n *notebook, file string) (all []output) {
	t.Helper()
	for i := range n.Cells {
		if n.Cells[i].Type != "code" {
			continue
		}
		if !slices.Contains(p.mains, i) {
			all = append(all, output{})
			continue
		}
		figures := t.TempDir()
		c := exec.Command(file, fmt.Sprint(i))
		// What is stored comes from the built-in kernels.
		c.Env = append(os.Environ(), "NOTEBOOK_FIGURES="+figures, "TANDEM_BLAS=")
		printed, err := c.Output()
		if err != nil {
			t.Fatalf("cell %d: %v\n%s", i, err, printed)
		}
		all = append(all, output{string(printed), readFigures(t, figures)})
	}
	return all
}

// readFigures returns the figures in a folder, by the order of their names.
func readFigures(t *testing.T, folder string) (all [][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		png, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, png)
	}
	return all
}

// The error of a broken cell names the cell.
func TestBrokenCellIsNamed(t *testing.T) {
	var p program
	if err := p.add(7, "func broken( {"); err == nil || !strings.Contains(err.Error(), "cell 7:1") {
		t.Errorf("error %v, want one that names cell 7", err)
	}
}

// Imports are merged, commands are left out, and lines keep their numbers.
func TestProgram(t *testing.T) {
	var p program
	for i, source := range []string{
		"!*go mod tidy\nimport \"fmt\"\nvar x = 1\n",
		"import \"fmt\"\nfunc f() {}\n%%\nfmt.Println(x)\nf()",
	} {
		if err := p.add(i, source); err != nil {
			t.Fatal(err)
		}
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "main.go", p.text(), parser.ParseComments)
	if err != nil {
		t.Fatalf("%v in\n%s", err, p.text())
	}
	if len(parsed.Imports) != 2 || !slices.Equal(p.mains, []int{1}) {
		t.Errorf("%d imports, main functions of the cells %d; want 2, [1]", len(parsed.Imports), p.mains)
	}
	want := map[string]string{"x": "cell_0.go:3", "f": "cell_1.go:2"}
	for name, at := range want {
		position := set.Position(parsed.Scope.Lookup(name).Pos())
		if got := fmt.Sprintf("%s:%d", filepath.Base(position.Filename), position.Line); got != at {
			t.Errorf("%s is declared at %s, want %s", name, got, at)
		}
	}
}

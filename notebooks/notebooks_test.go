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
)

// notebook holds the fields of an .ipynb file that the test reads.
type notebook struct {
	Cells []struct {
		Type   string   `json:"cell_type"`
		Source []string `json:"source"`
	} `json:"cells"`
}

// program collects the Go code of a notebook. As in gonb, all cells share their declarations and
// imports, and the code after a line %% is a main function.
type program struct {
	imports      []string // specs, in order
	declarations strings.Builder
	mains        int
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
		fmt.Fprintf(&p.declarations, function, p.mains, number, above+1, body.String())
		p.mains++
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

// text returns the source of the program, which runs the cells in order.
func (p *program) text() string {
	var text strings.Builder
	text.WriteString("// Command notebook is a notebook as a program.\npackage main\n")
	fmt.Fprintf(&text, "\nimport (\n%s\n)\n", strings.Join(p.imports, "\n"))
	text.WriteString("\nfunc main() {\n")
	for i := range p.mains {
		fmt.Fprintf(&text, "main%d()\n", i)
	}
	text.WriteString("}\n")
	text.WriteString(p.declarations.String())
	return text.String()
}

// Every notebook is correct Go code that runs to its end and reports no error.
func TestNotebooksRun(t *testing.T) {
	names, err := filepath.Glob("*.ipynb")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d notebooks found, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			output := runProgram(t, extract(t, name))
			if strings.Contains(output, "error:") || strings.Contains(output, "ABOVE THE BOUND") {
				t.Errorf("the notebook reports an error:\n%s", output)
			}
		})
	}
}

func extract(t *testing.T, name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var p program
	for i, cell := range n.Cells {
		if cell.Type != "code" {
			continue
		}
		if err := p.add(i, strings.Join(cell.Source, "")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return p.text()
}

// runProgram vets and runs a program. The go command resolves the imports of a file in any folder by the
// module of the working directory, which is this module.
func runProgram(t *testing.T, source string) string {
	temporary := t.TempDir()
	file := filepath.Join(temporary, "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var output []byte
	var err error
	for _, command := range []string{"vet", "run"} {
		c := exec.Command("go", command, file)
		c.Env = append(os.Environ(), "TMPDIR="+temporary)
		if output, err = c.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", command, err, output)
		}
	}
	return string(output)
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
	if len(parsed.Imports) != 1 || p.mains != 1 {
		t.Errorf("%d imports, %d main functions; want 1, 1", len(parsed.Imports), p.mains)
	}
	want := map[string]string{"x": "cell_0.go:3", "f": "cell_1.go:2"}
	for name, at := range want {
		position := set.Position(parsed.Scope.Lookup(name).Pos())
		if got := fmt.Sprintf("%s:%d", filepath.Base(position.Filename), position.Line); got != at {
			t.Errorf("%s is declared at %s, want %s", name, got, at)
		}
	}
}

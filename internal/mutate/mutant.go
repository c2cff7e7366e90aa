package mutate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// A Mutant is one change to one file.
type Mutant struct {
	ID       string // name of the package, operator and hash of the place
	Folder   string // of the package, from the root of the module
	File     string // from the root of the module
	Line     int    // of the first byte that changes
	Operator string
	Before   string // the changed lines without indentation
	After    string

	start, end  int    // bytes of the file that change
	replacement string // takes their place
}

// apply returns the text of the file with the change.
func (m *Mutant) apply(text []byte) []byte {
	mutated := append([]byte(nil), text[:m.start]...)
	mutated = append(mutated, m.replacement...)
	return append(mutated, text[m.end:]...)
}

// Candidates returns every mutant of the non-test Go files of a folder, in the
// order of file name and place. Files of other systems and generated files
// have none. Root is the root of the module.
func Candidates(root, folder string) ([]Mutant, error) {
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	var found []Mutant
	seen := map[string]int{} // mutants with the same operator, function and change
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ours, err := build.Default.MatchFile(filepath.Join(root, folder), name); err != nil || !ours {
			if err != nil {
				return nil, err
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, folder, name))
		if err != nil {
			return nil, err
		}
		mutants, err := fileCandidates(folder, name, text, seen)
		if err != nil {
			return nil, err
		}
		found = append(found, mutants...)
	}
	return found, nil
}

// fileCandidates returns the mutants of one file.
func fileCandidates(folder, name string, text []byte, seen map[string]int) ([]Mutant, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(syntax) {
		return nil, nil
	}
	s := &source{text: text, file: set.File(syntax.Pos()), exempt: exemptions(syntax)}
	for _, declaration := range syntax.Decls {
		s.function = functionName(declaration)
		ast.Inspect(declaration, func(node ast.Node) bool {
			if node == nil || s.exempted(node) {
				return false
			}
			s.mutate(node)
			return true
		})
	}
	sort.SliceStable(s.edits, func(i, j int) bool { return s.edits[i].start < s.edits[j].start })
	mutants := make([]Mutant, len(s.edits))
	for i, e := range s.edits {
		m := Mutant{
			Folder: folder, File: path.Join(folder, name), Line: s.file.Line(s.file.Pos(e.start)),
			Operator: e.operator,
			start:    e.start, end: e.end, replacement: e.replacement,
		}
		m.Before, m.After = s.lines(e)
		place := strings.Join([]string{folder, e.operator, e.function, m.Before, m.After}, "\x00")
		seen[place]++
		hash := sha256.Sum256([]byte(place + "\x00" + strconv.Itoa(seen[place])))
		m.ID = fmt.Sprintf("%s/%s/%s", path.Base(folder), e.operator, hex.EncodeToString(hash[:4]))
		mutants[i] = m
	}
	return mutants, nil
}

// source is a file in which places for mutants are searched.
type source struct {
	text     []byte
	file     *token.File
	exempt   []ast.Node
	function string // that is searched
	edits    []edit
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end  int
	replacement string
	operator    string
	function    string
}

// offset returns the byte offset of a position.
func (s *source) offset(p token.Pos) int { return s.file.Offset(p) }

// of returns the text of a node.
func (s *source) of(node ast.Node) string {
	return string(s.text[s.offset(node.Pos()):s.offset(node.End())])
}

// replace adds a mutant that replaces the text between two positions.
func (s *source) replace(operator string, from, to token.Pos, replacement string) {
	s.edits = append(s.edits, edit{s.offset(from), s.offset(to), replacement, operator, s.function})
}

// lines returns the lines that an edit touches, before and after it.
func (s *source) lines(e edit) (before, after string) {
	first := s.offset(s.file.LineStart(s.file.Line(s.file.Pos(e.start))))
	last := e.end
	for last < len(s.text) && s.text[last] != '\n' {
		last++
	}
	before = string(s.text[first:last])
	after = string(s.text[first:e.start]) + e.replacement + string(s.text[e.end:last])
	return strings.TrimSpace(before), strings.TrimSpace(after)
}

// functionName returns the name of a function with its receiver type, or "" for
// another declaration.
func functionName(declaration ast.Decl) string {
	function, ok := declaration.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + function.Name.Name
	}
	return function.Name.Name
}

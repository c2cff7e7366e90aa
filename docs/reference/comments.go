package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// module is the path of the module, with which the paths of its packages begin.
const module = "tandem/"

// comments reads the comments of the fields of types from the sources.
type comments struct {
	root     string
	packages map[string]*source // by import path
}

// source is what the comments of a package refer to.
type source struct {
	fields    map[string]map[string]string // comments by type and field
	keys      map[string]map[string]string // keys by type and field
	constants map[string]string            // text constants
}

func newComments(root string) *comments { return &comments{root, map[string]*source{}} }

// of returns the comment of a field as a reference has it: keys and values instead of Go's names. A field
// without one shares that of an earlier field, if this names both.
func (c *comments) of(t reflect.Type, field string) (string, error) {
	s, err := c.source(t.PkgPath())
	if err != nil {
		return "", err
	}
	text := s.fields[t.Name()][field]
	named := regexp.MustCompile(`\b` + field + `\b`)
	for i := range t.NumField() {
		earlier := s.fields[t.Name()][t.Field(i).Name]
		if text == "" && named.MatchString(earlier) {
			text = earlier
		}
	}
	if text == "" {
		return "", fmt.Errorf("%s.%s has no comment", t, field)
	}
	text = s.translate(text, t.Name(), field)
	if name := leftover.FindString(text); name != "" && !strings.HasSuffix(name, "iB") { // MiB is a unit
		return "", fmt.Errorf("the comment of %s.%s names %s, which a reader of the reference does not know",
			t, field, name)
	}
	return text, nil
}

// leftover is a name that only Go has.
var leftover = regexp.MustCompile(`\b([A-Z]?[a-z]+[A-Z][A-Za-z]*|[a-z]+\.[A-Z][A-Za-z.]*)\b`)

// source reads the sources of a package.
func (c *comments) source(path string) (*source, error) {
	if s := c.packages[path]; s != nil {
		return s, nil
	}
	s := &source{map[string]map[string]string{}, map[string]map[string]string{}, map[string]string{}}
	folder := filepath.Join(c.root, filepath.FromSlash(strings.TrimPrefix(path, module)))
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if structure, ok := n.Type.(*ast.StructType); ok {
					s.addStruct(n.Name.Name, structure)
				}
			case *ast.ValueSpec:
				s.addConstants(n)
			}
			return true
		})
	}
	c.packages[path] = s
	return s, nil
}

func (s *source) addStruct(name string, structure *ast.StructType) {
	s.fields[name], s.keys[name] = map[string]string{}, map[string]string{}
	for _, f := range structure.Fields.List {
		comment := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		tag := ""
		if f.Tag != nil {
			if unquoted, err := strconv.Unquote(f.Tag.Value); err == nil {
				tag, _, _ = strings.Cut(reflect.StructTag(unquoted).Get("yaml"), ",")
			}
		}
		for _, n := range f.Names {
			s.fields[name][n.Name], s.keys[name][n.Name] = comment, tag
		}
	}
}

func (s *source) addConstants(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			return
		}
		if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				s.constants[name.Name] = value
			}
		}
	}
}

// word is a name of Go's, perhaps with a dot: Hosts.Zone.
var word = regexp.MustCompile(`\[[A-Z][A-Za-z0-9.]*\]|\b[A-Z][A-Za-z0-9]*(?:\.[A-Z][A-Za-z0-9]*)?\b`)

// translate replaces the names of fields by their keys, and those of constants by their values.
func (s *source) translate(text, structure, field string) string {
	text = word.ReplaceAllStringFunc(text, func(name string) string {
		name = strings.Trim(name, "[]")
		if of, last, ok := strings.Cut(name, "."); ok {
			if k := s.keys[of][last]; k != "" {
				return "`" + k + "`"
			}
			return name
		}
		if k := s.keys[structure][name]; k != "" {
			return "`" + k + "`"
		}
		if value, ok := s.constants[name]; ok {
			return "`" + value + "`"
		}
		return name
	})
	if own := s.keys[structure][field]; own != "" { // "path is a single file" → "a single file"
		for _, verb := range []string{" is ", " are ", " says ", " names "} {
			if rest, ok := strings.CutPrefix(text, "`"+own+"`"+verb); ok {
				switch verb {
				case " is ", " are ":
					text = rest
				default:
					text = strings.TrimSpace(verb) + " " + rest
				}
			}
		}
	}
	return strings.TrimSuffix(text, ".") + "."
}

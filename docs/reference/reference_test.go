package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/pythontest"
)

var root = filepath.Join("..", "..")

// The files are those that the code gives.
func TestFilesAreGenerated(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		stored, err := os.ReadFile(f.name)
		if err != nil || !bytes.Equal(stored, f.text) {
			t.Errorf("%s is not what the code says (error %v): go run ./docs/reference", f.name, err)
		}
	}
}

// Every key that a resolved job has is in the reference, and every key of the reference is one that the
// decoder knows.
func TestKeysAreThoseOfTheDecoder(t *testing.T) {
	keys, err := allKeys(root)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	var collect func(k *key)
	collect = func(k *key) {
		known[strings.TrimSuffix(k.path, "[]")] = true
		if k.meaning == "" && !strings.HasSuffix(k.path, "[]") {
			t.Errorf("%s has no meaning", k.path)
		}
		for _, child := range k.children {
			collect(child)
		}
	}
	for _, k := range keys {
		collect(k)
	}
	for name, j := range exampleJobs() {
		text, err := yaml.Marshal(j.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		var node any
		if err := yaml.Unmarshal(text, &node); err != nil {
			t.Fatal(err)
		}
		for _, path := range pathsOf("", node) {
			if !known[path] && !strings.HasPrefix(path, "training.mode-settings.") {
				t.Errorf("%s: %s is not in the reference", name, path)
			}
		}
	}
	for path := range known {
		name := path[strings.LastIndex(path, ".")+1:]
		section, _, below := strings.Cut(path, ".")
		if !below || strings.Contains(path, "[]") || strings.Count(path, ".") > 1 {
			continue
		}
		_, err := job.Parse([]byte("data: {kind: adult-income}\n"+section+": {"+name+": ~}\n"), "x.yaml")
		if section != "data" && err != nil && strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// pathsOf returns the paths of all keys of a document.
func pathsOf(path string, node any) (paths []string) {
	switch node := node.(type) {
	case map[string]any:
		for name, value := range node {
			paths = append(paths, join(path, name))
			paths = append(paths, pathsOf(join(path, name), value)...)
		}
	case []any:
		for _, value := range node {
			paths = append(paths, pathsOf(path+"[]", value)...)
		}
	}
	return paths
}

// A few ranges, as the checks say them: least and greatest values, choices and forms.
func TestRanges(t *testing.T) {
	ranges := probeRanges()
	for path, want := range map[string]string{
		"training.epochs":                      fmt.Sprintf("1 to %d", job.EpochsMax),
		"roles.ranks":                          fmt.Sprintf("1 to %d", job.RolesMax),
		"rows.eviction":                        "refuse, second-chance",
		"model.optimizer.kind":                 "sgd, adagrad or adam",
		"data.synthetic.columns[].cardinality": fmt.Sprintf("1 to %d", job.CardinalityMax),
		"faults.crashes[].away":                "0 to 1min",
	} {
		if ranges[path] != want {
			t.Errorf("%s: %q, want %q", path, ranges[path], want)
		}
	}
	if len(ranges) < 100 {
		t.Errorf("%d ranges only", len(ranges))
	}
}

// jobFiles returns every job file of the repository, by name, and the resolved job of each.
func jobFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	add := func(name string, text []byte) {
		j, err := job.Parse(text, name)
		if err != nil {
			return // another kind of file, or one that is wrong on purpose
		}
		resolved, err := yaml.Marshal(j.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		files[name], files[name+" (resolved)"] = text, resolved
	}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") ||
			name == filepath.Join(root, "results")) { // not of the repository
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".yaml" {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if strings.Contains(string(text), "data:") {
				add(name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	add("as-results-have-it", []byte("data: {kind: adult-income}\nmodel: {kind: feed-forward, factors: 0, "+
		"cross-layers: 0}\n"))
	add("module.yaml", []byte("data: {kind: adult-income}\nmodel: {kind: torch, file: net.py, class: Net, "+
		"embedding-dim: 16, arguments: {hidden: [128, 64], norm: {eps: 0.1}}}\n"))
	page, err := os.ReadFile(filepath.Join(root, "cmd", "train", "jobs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, match := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		add(fmt.Sprintf("README-block-%d.yaml", i+1), match[1])
	}
	return files
}

// wrong are job files that the schema refuses, with the place where.
var wrong = map[string]string{
	"data: {kind: adult-income}\ntraining: {stalenes: 2}":      "training",
	"data: {kind: adult-income}\ntraining: {mode: hybird}":     "training.mode",
	"data: {kind: adult-income}\nroles: {ranks: 0}":            "roles.ranks",
	"data: {kind: adult-income}\nmodel: {top: [many]}":         "model.top[]",
	"data: {kind: adult-income}\ntraining: {shuffle: perhaps}": "training.shuffle",
	"training: {mode: sync}":                                   "",
}

// The schema accepts every job file of the repository, also as it is resolved, and refuses wrong ones.
func TestSchemaAcceptsJobFiles(t *testing.T) {
	var schema map[string]any
	text, err := os.ReadFile("job.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	files := jobFiles(t)
	if len(files) < 20 {
		t.Errorf("%d job files only", len(files))
	}
	for name, text := range files {
		var node any
		if err := yaml.Unmarshal(text, &node); err != nil {
			t.Fatal(err)
		}
		if fault := check(schema, node, ""); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for text, where := range wrong {
		var node any
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		if fault := check(schema, node, ""); !strings.HasPrefix(fault, where+":") {
			t.Errorf("%q: fault %q, want one at %q", text, fault, where)
		}
	}
}

// check returns the first fault of a node against the parts of JSON schema that are in use; "" for none.
func check(schema map[string]any, node any, path string) string {
	if !slices.Contains(schema["type"].([]any), any(typeOf(node))) &&
		!(typeOf(node) == "integer" && slices.Contains(schema["type"].([]any), any("number"))) {
		return fmt.Sprintf("%s: %v is %s, want %v", path, node, typeOf(node), schema["type"])
	}
	if words, ok := schema["enum"].([]any); ok && !slices.Contains(words, node) {
		return fmt.Sprintf("%s: %v is none of %v", path, node, words)
	}
	if least, ok := schema["minimum"].(float64); ok && node != nil {
		if x := asFloat(node); x < least || x > schema["maximum"].(float64) {
			return fmt.Sprintf("%s: %v is out of range", path, node)
		}
	}
	switch node := node.(type) {
	case map[string]any:
		if required, ok := schema["required"].([]any); ok && node[required[0].(string)] == nil {
			return fmt.Sprintf("%s: %v is missing", path, required[0])
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, value := range node {
			below, ok := properties[name].(map[string]any)
			if !ok {
				if schema["additionalProperties"] == true {
					continue
				}
				if below, ok = schema["additionalProperties"].(map[string]any); !ok {
					return fmt.Sprintf("%s: unknown key %s", path, name)
				}
			}
			if fault := check(below, value, join(path, name)); fault != "" {
				return fault
			}
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		for _, value := range node {
			if !ok {
				break
			}
			if fault := check(items, value, path+"[]"); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// typeOf returns the type of a node as JSON schema names it.
func typeOf(node any) string {
	switch node := node.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if node == math.Trunc(node) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "integer"
}

// asFloat returns a number of a YAML document.
func asFloat(node any) float64 {
	switch node := node.(type) {
	case int:
		return float64(node)
	case uint64:
		return float64(node)
	case float64:
		return node
	}
	return math.NaN()
}

const validator = `
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
v = jsonschema.Draft7Validator(schema)
print(json.dumps([next((e.message for e in v.iter_errors(d)), "") for d in json.load(sys.stdin)]))
`

// A validator that was not written here agrees.
func TestSchemaInPython(t *testing.T) {
	python := pythontest.With(t, "jsonschema")
	var documents []any
	var names []string
	for name, text := range jobFiles(t) { // order-free: names are kept beside documents
		var node any
		if err := yaml.Unmarshal(text, &node); err != nil {
			t.Fatal(err)
		}
		documents, names = append(documents, node), append(names, name)
	}
	right := len(documents)
	for text := range wrong {
		var node any
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		documents, names = append(documents, node), append(names, text)
	}
	input, err := json.Marshal(documents)
	if err != nil {
		t.Fatal(err)
	}
	out := python.Run(t, bytes.NewReader(input), "-c", validator, "job.schema.json")
	var faults []string
	if err := json.Unmarshal(out, &faults); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, fault := range faults {
		if (fault == "") != (i < right) {
			t.Errorf("%s: %q", names[i], fault)
		}
	}
}

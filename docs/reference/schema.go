package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a JSON object, whose keys are written in order.
type object map[string]any

// schemaOf returns the schema of a job file. Every value may be null, which leaves the default.
func schemaOf(sections []*key) ([]byte, error) {
	schema := objectOf(sections)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Tandem job file"
	schema["required"] = []string{"data"}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(schema)
	return b.Bytes(), err
}

// objectOf returns the schema of keys.
func objectOf(keys []*key) object {
	properties := object{}
	for _, k := range keys {
		name := k.path[strings.LastIndex(k.path, ".")+1:]
		properties[name] = valueOf(k)
	}
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// valueOf returns the schema of a key's value.
func valueOf(k *key) object {
	s := object{}
	switch k.kind {
	case mapping:
		s = objectOf(k.children)
	case list:
		s["type"], s["items"] = []string{"array", "null"}, valueOf(k.children[0])
	case names:
		s["type"] = []string{"object", "null"}
		s["additionalProperties"] = object{"type": []string{"string", "number", "boolean"}}
	case free:
		s["type"], s["additionalProperties"] = []string{"object", "null"}, true
	case text:
		s["type"] = []string{"string", "number", "boolean", "null"} // any plain value is read as text
		if words := choices(k.allowed); words != nil {
			s["type"], s["enum"] = []string{"string", "null"}, append(words, "", nil)
		}
	case number, whole:
		s["type"] = []string{"number", "null"}
		if k.kind == whole {
			s["type"] = []string{"integer", "null"}
		}
		if low, high, ok := ends(k.allowed); ok {
			// 0 stands for another default, or in a resolved job for a number that only other kinds of
			// models have.
			if k.initial == "0" || k.kind == whole && strings.HasPrefix(k.path, "model.") {
				low = min(low, 0)
			}
			s["minimum"], s["maximum"] = low, high
		}
	case yesOrNo:
		s["type"] = []string{"boolean", "null"}
	case formed:
		s["type"] = []string{"string", "number", "null"}
	case anything:
		s["type"] = []string{"string", "array", "null"}
	}
	description := k.meaning
	if extra := k.allowed + k.form; extra != "" {
		description = strings.TrimSpace(description + " " + strings.ToUpper(extra[:1]) + extra[1:] + ".")
	}
	if description != "" {
		s["description"] = strings.ReplaceAll(description, "`", "")
	}
	if k.initial != "" {
		var value any
		if yaml.Unmarshal([]byte(k.initial), &value) == nil {
			s["default"] = value
		}
	}
	return s
}

// interval is a range with two ends.
var interval = regexp.MustCompile(`^(-?[0-9.e+]+) to (-?[0-9.e+]+)`)

// ends returns the ends of a range in words.
func ends(allowed string) (low, high float64, ok bool) {
	match := interval.FindStringSubmatch(allowed)
	if match == nil {
		return 0, 0, false
	}
	low, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, 0, false
	}
	high, err = strconv.ParseFloat(match[2], 64)
	return low, high, err == nil
}

// choice is a list of words, as: sgd, adagrad or adam; or in quotes.
var choice = regexp.MustCompile(`^"?[a-z0-9-]+"?(?:(?:, or |, | or )"?[a-z0-9-]+"?)+$`)

// choices returns the words of a range that is a choice, or nil.
func choices(allowed string) (words []any) {
	allowed = strings.TrimPrefix(allowed, "one of ")
	if !choice.MatchString(allowed) {
		return nil
	}
	for _, field := range strings.Fields(strings.NewReplacer(",", " ", `"`, " ").Replace(allowed)) {
		if field != "or" {
			words = append(words, field)
		}
	}
	return words
}

package persia

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// readYAML returns the mapping of a text that has one, and no other document.
func readYAML(text []byte) (*yaml.Node, error) {
	in := yaml.NewDecoder(bytes.NewReader(text))
	var document, other yaml.Node
	var values any
	if err := in.Decode(&document); err != nil && err != io.EOF {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it has no keys: name a configuration of Persia")
	}
	if err := document.Decode(&values); err != nil { // keys that repeat, and aliases that contain themselves
		return nil, err
	}
	if err := in.Decode(&other); err != io.EOF {
		return nil, errors.New("it has several documents, and Persia reads the first: leave out the others")
	}
	return document.Content[0], nil
}

// repeated matches what package yaml says of a key that a mapping has twice.
var repeated = regexp.MustCompile(`line (\d+): mapping key (".*") already defined at line (\d+)`)

// repeatedKey returns the line of a key that repeats, the key, and its first line; nil for other errors.
func repeatedKey(err error) []string {
	if err == nil {
		return nil
	}
	if m := repeated.FindStringSubmatch(err.Error()); m != nil {
		return m
	}
	return nil
}

// entry is a key of a mapping, and its value.
type entry struct{ key, value *yaml.Node }

// entriesOf returns the entries of a mapping, with those that it merges (<<) unless it has their keys itself.
func entriesOf(mapping *yaml.Node) (all []entry, err error) {
	mapping = resolved(mapping)
	if mapping.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%d: there are no keys, as Persia has there", mapping.Line)
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], resolved(mapping.Content[i+1])
		switch {
		case key.ShortTag() != "!!merge":
			all = append(all, entry{resolved(key), value})
		case value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		default:
			merged = append(merged, value)
		}
	}
	for _, m := range merged {
		others, err := entriesOf(m)
		if err != nil {
			return nil, err
		}
		for _, o := range others {
			if !slices.ContainsFunc(all, func(e entry) bool { return e.key.Value == o.key.Value }) {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// resolved returns the node that an alias stands for, or the node itself.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

package model

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"tandem/algo/quantity"
)

// Number is a quantity of a model. In a file it is a plain number, for what the source of the model says, or
// a quantity with its own range and source. Its better end is the one that makes less work.
type Number struct {
	quantity.Value[quantity.Burden]
}

// UnmarshalYAML reads either form.
func (n *Number) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		n.Kind = quantity.Default
		return node.Decode(&n.Mid)
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("want a number, or a quantity with low, mid, high, kind, source and date")
	}
	for i := 0; i < len(node.Content); i += 2 {
		var target any
		switch key := node.Content[i].Value; key {
		case "low":
			target = &n.Low
		case "mid":
			target = &n.Mid
		case "high":
			target = &n.High
		case "kind":
			target = &n.Kind
		case "source":
			target = &n.Source
		case "date":
			target = &n.Date
		default:
			return fmt.Errorf("unknown key %q; want low, mid, high, kind, source or date", key)
		}
		if err := node.Content[i+1].Decode(target); err != nil {
			return err
		}
	}
	return nil
}

// MarshalYAML writes the quantity with its origin.
func (n Number) MarshalYAML() (any, error) {
	if !n.Given() {
		return nil, nil
	}
	return n.Value, nil
}

// of returns the middle, or otherwise if the number is not given.
func (n *Number) of(otherwise float64) float64 {
	if n.Given() {
		return float64(n.Mid)
	}
	return otherwise
}

package paper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/quantity"
	"tandem/sim/predict"
)

// Input is a parameter of the cases with its range and where it is from.
type Input struct {
	Name   string        `json:"name"`
	Low    string        `json:"low"`
	Middle string        `json:"middle"`
	High   string        `json:"high"`
	Kind   quantity.Kind `json:"kind"`
	Source string        `json:"source"`
	Date   string        `json:"date"`
	// Cases are the cases that have the parameter so; absent: all.
	Cases []string `json:"cases,omitempty"`
}

// Inputs are all inputs of a plan.
type Inputs struct {
	// Hash is the SHA-256 of all cases with the names and ranges of their parameters and the rest of their
	// models. The wording of sources is not part of it.
	Hash string  `json:"hash"`
	List []Input `json:"list"`
}

// Freeze returns the inputs of a plan.
func (p *Plan) Freeze() (*Inputs, error) {
	inputs := &Inputs{}
	hash := sha256.New()
	for i := range p.Cases {
		c := &p.Cases[i]
		j, err := c.Choice.Job()
		if err == nil {
			err = c.describe(hash, j)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		for _, e := range j.Parameters() {
			low, middle, high := e.Span()
			kind, source, date := e.Origin()
			inputs.add(c.Name, Input{Name: e.Name, Low: e.Text(low), Middle: e.Text(middle),
				High: e.Text(high), Kind: kind, Source: source, Date: date})
		}
	}
	for i := range inputs.List {
		if in := &inputs.List[i]; len(in.Cases) == len(p.Cases) {
			in.Cases = nil
		}
	}
	slices.SortStableFunc(inputs.List, func(a, b Input) int { return strings.Compare(a.Name, b.Name) })
	inputs.Hash = hex.EncodeToString(hash.Sum(nil))
	return inputs, nil
}

// add adds an input of a case.
func (inputs *Inputs) add(name string, in Input) {
	k := slices.IndexFunc(inputs.List, func(x Input) bool {
		return x.Name == in.Name && x.Low == in.Low && x.Middle == in.Middle && x.High == in.High &&
			x.Source == in.Source
	})
	if k < 0 {
		k, inputs.List = len(inputs.List), append(inputs.List, in)
	}
	inputs.List[k].Cases = append(inputs.List[k].Cases, name)
}

// describe writes all that is hashed of a case.
func (c *Case) describe(w io.Writer, j *predict.Job) error {
	fmt.Fprintln(w, c.Name)
	m := j.Model
	for _, part := range []any{c.Choice, m.Groups, m.Dense, m.Precisions, m.Optimizers, m.Batch, j.Training} {
		encoded, err := yaml.Marshal(part)
		if err != nil {
			return err
		}
		fmt.Fprint(w, string(encoded))
	}
	for _, e := range j.Parameters() {
		low, middle, high := e.Span()
		fmt.Fprintln(w, e.Name, low, middle, high)
	}
	return nil
}

// CheckStored returns an error if the stored results of a plan are of other inputs than those in the tree.
// Again is the command that repeats the run.
func (p *Plan) CheckStored(path, again string) error {
	stored, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	now, err := p.Freeze()
	if err == nil && !strings.Contains(string(stored), fmt.Sprintf("%q: %q", "hash", now.Hash)) {
		err = fmt.Errorf("the inputs have changed since %s was stored; run it again: %s", path, again)
	}
	return err
}

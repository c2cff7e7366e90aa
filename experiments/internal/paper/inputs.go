package paper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
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
	at := map[string]int{}
	for i := range p.Cases {
		c := &p.Cases[i]
		j, err := c.Choice.Job()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		text, err := describe(c, j)
		if err != nil {
			return nil, err
		}
		hash.Write([]byte(text))
		for _, e := range j.Parameters() {
			low, middle, high := e.Span()
			kind, source, date := e.Origin()
			in := Input{e.Name, e.Text(low), e.Text(middle), e.Text(high), kind, source, date, nil}
			key := strings.Join([]string{in.Name, in.Low, in.Middle, in.High, source}, "\n")
			k, known := at[key]
			if !known {
				k, at[key] = len(inputs.List), len(inputs.List)
				inputs.List = append(inputs.List, in)
			}
			inputs.List[k].Cases = append(inputs.List[k].Cases, c.Name)
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

// describe returns all that is hashed of a case.
func describe(c *Case, j *predict.Job) (string, error) {
	var text strings.Builder
	fmt.Fprintln(&text, c.Name)
	model := *j.Model
	model.Source, model.Date, model.Note = "", "", ""
	for _, part := range []any{c.Choice, model.Groups, model.Dense, model.Precisions, model.Optimizers,
		model.Batch, j.Training} {
		encoded, err := yaml.Marshal(part)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		text.Write(encoded)
	}
	for _, e := range j.Parameters() {
		low, middle, high := e.Span()
		fmt.Fprintln(&text, e.Name, number(low), number(middle), number(high))
	}
	return text.String(), nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

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

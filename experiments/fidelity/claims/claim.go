package claims

import (
	_ "embed" // for claims.yaml
	"fmt"
	"math"

	"tandem/algo/job"
)

//go:embed claims.yaml
var claimsText []byte

// claim is a sentence or a figure of a paper, with the quantity of ours that it is compared with.
type claim struct {
	ID     string `yaml:"id" json:"id"`
	System string `yaml:"system" json:"system"` // whose paper
	Text   string `yaml:"claim" json:"claim"`
	// Published is what the paper has; absent if the claim cannot be tested here.
	Published *published `yaml:"published,omitempty" json:"published,omitempty"`
	// Void is the value that would mean that there is no such effect: 1 for a ratio, 0 for a difference. An
	// interval on the same side of it as the published value shows the shape. Absent: the claim is a bound or
	// a level.
	Void *float64 `yaml:"void,omitempty" json:"void,omitempty"`
	// Experiment and Quantity name the number of ours.
	Experiment string `yaml:"experiment,omitempty" json:"experiment,omitempty"`
	Quantity   string `yaml:"quantity,omitempty" json:"quantity,omitempty"`
	// Times is a number of another experiment by which ours is multiplied; nil: by none.
	Times *quantityName `yaml:"times,omitempty" json:"times,omitempty"`
	// Differs says how our number differs from the paper's, for example in its data.
	Differs string `yaml:"differs,omitempty" json:"differs,omitempty"`
	// Untestable is the reason why the claim cannot be tested here, or empty.
	Untestable string `yaml:"untestable,omitempty" json:"untestable,omitempty"`
}

// quantityName names a number of ours.
type quantityName struct {
	Experiment string `yaml:"experiment" json:"experiment"`
	Quantity   string `yaml:"quantity" json:"quantity"`
}

// published is a number of a paper: the value, with the ends of what its printed or digitised form allows, or
// a bound, which has no value.
type published struct {
	Value *float64 `yaml:"value,omitempty" json:"value,omitempty"`
	Low   *float64 `yaml:"low,omitempty" json:"low,omitempty"`   // absent: no lower end
	High  *float64 `yaml:"high,omitempty" json:"high,omitempty"` // absent: no upper end
	Unit  string   `yaml:"unit" json:"unit"`                     // × for a ratio; empty for an AUC
	Form  string   `yaml:"form" json:"form"`                     // such as printed or digitised
}

// ends returns the ends, which are infinite where the paper has none.
func (p *published) ends() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if p.Low != nil {
		low = *p.Low
	}
	if p.High != nil {
		high = *p.High
	}
	return low, high
}

// isBound reports whether the paper has a bound, not a value.
func (p *published) isBound() bool { return p.Value == nil }

// all returns the claims in the order of the file.
func all() ([]claim, error) {
	var file struct {
		Claims []claim `yaml:"claims"`
	}
	if err := job.Decode(claimsText, "claims.yaml", &file); err != nil {
		return nil, err
	}
	list := file.Claims
	seen := map[string]bool{}
	for i := range list {
		c := &list[i]
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("claims.yaml: %q: %w", c.ID, err)
		}
		if seen[c.ID] {
			return nil, fmt.Errorf("claims.yaml: there are two claims %q", c.ID)
		}
		seen[c.ID] = true
	}
	return list, nil
}

// check returns an error if a claim could not be judged.
func (c *claim) check() error {
	if c.ID == "" || c.System == "" || c.Text == "" {
		return fmt.Errorf("needs id, system and claim")
	}
	if c.Untestable != "" {
		if c.Published != nil || c.Experiment != "" || c.Quantity != "" || c.Times != nil {
			return fmt.Errorf("is not testable, so it has no number of ours and needs no published one")
		}
		return nil
	}
	if c.Published == nil || c.Experiment == "" || c.Quantity == "" {
		return fmt.Errorf("needs published, experiment and quantity, or untestable")
	}
	if c.Times != nil && (c.Times.Experiment == "" || c.Times.Quantity == "") {
		return fmt.Errorf("times needs experiment and quantity")
	}
	p := c.Published
	low, high := p.ends()
	if p.Form == "" || !(low <= high) || math.IsInf(low, -1) && math.IsInf(high, 1) {
		return fmt.Errorf("published needs form, and an end at least, low at most high")
	}
	if !p.isBound() && !(low <= *p.Value && *p.Value <= high) {
		return fmt.Errorf("the published value is not between its ends")
	}
	if c.Void != nil && (p.isBound() || low <= *c.Void && *c.Void <= high) {
		return fmt.Errorf("void needs a published value, and lies outside its ends")
	}
	return nil
}

package graph

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tandem/algo/job"
)

// ErrPlacement is wrapped by the error about a rule that no table or rank can follow.
var ErrPlacement = errors.New("placement")

// Rule says how a table is to be placed.
type Rule struct {
	Table  string `yaml:"table" json:"table"`
	Layout Layout `yaml:"layout" json:"layout"` // empty: by cost
	// Parts is the number of parts of ColumnWise and Grid; 0: as many as Ranks, or else 2.
	Parts int  `yaml:"parts" json:"parts"`
	Tier  Tier `yaml:"tier" json:"tier"` // empty: the fastest that has room
	// Ranks are the ranks of the parts or, where a part is on all ranks of a server, the first of these;
	// empty: by cost. RowWise and DataParallel have none: they use all ranks.
	Ranks []int `yaml:"ranks" json:"ranks"`
}

// LoadRules reads a user's placement: a YAML file with a list "tables" of rules, strictly.
func LoadRules(name string) ([]Rule, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrPlacement, name, err)
	}
	var file struct {
		Tables []Rule `yaml:"tables"`
	}
	if err := job.Decode(text, name, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlacement, err)
	}
	for i, rule := range file.Tables {
		same := func(r Rule) bool { return r.Table == rule.Table }
		if slices.ContainsFunc(file.Tables[:i], same) {
			return nil, fmt.Errorf("%w: %s: table %s is named twice", ErrPlacement, name, rule.Table)
		}
	}
	return file.Tables, nil
}

// Rules returns rules that repeat the result's placement. A job that has them is not searched for a
// placement, which takes most of the time of a run.
func (r *Result) Rules() (rules []Rule) {
	for _, s := range r.Placement {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.Table == s.Table })
		if i < 0 {
			i, rules = len(rules), append(rules, Rule{Table: s.Table, Layout: s.Layout, Tier: s.Tier})
		}
		rules[i].Parts++
		if s.Layout != RowWise && s.Layout != DataParallel {
			rules[i].Ranks = append(rules[i].Ranks, s.Rank)
		}
	}
	return rules
}

// applyRules gives the rules of a job to the tables.
func (p *placer) applyRules(rules []Rule) error {
	names := make([]string, len(p.tables))
	for i := range p.tables {
		names[i] = p.tables[i].Name
	}
	for _, rule := range rules {
		i := slices.Index(names, rule.Table)
		if i < 0 {
			nearest := job.Nearest(rule.Table, names)
			if nearest == "" {
				nearest = names[0]
			}
			return fmt.Errorf("graph: %w: unknown table %q; the model has %d, such as %q", ErrPlacement,
				rule.Table, len(names), nearest)
		}
		if err := rule.check(p.tables[i].Dim, p.net); err != nil {
			return fmt.Errorf("graph: %w: table %s: %w", ErrPlacement, rule.Table, err)
		}
		if (rule.Layout == ColumnWise || rule.Layout == Grid) && rule.Parts == 0 {
			rule.Parts = len(rule.Ranks)
		}
		if p.net.ranks == 1 {
			rule.Ranks = nil
		}
		p.tables[i].rule = rule
	}
	return nil
}

// layouts lists the layouts of a rule.
func layouts() []string {
	return []string{string(TableWise), string(ColumnWise), string(RowWise), string(ServerRowWise),
		string(Grid), string(DataParallel)}
}

// check reports the first setting that a table of rows of dim values cannot have in a network.
func (r *Rule) check(dim int, net *network) error {
	switch {
	case r.Layout != "" && !slices.Contains(layouts(), string(r.Layout)):
		near := ""
		if name := job.Nearest(string(r.Layout), layouts()); name != "" {
			near = fmt.Sprintf("; the nearest is %q", name)
		}
		return fmt.Errorf("layout %q; want one of %s%s", r.Layout, strings.Join(layouts(), ", "), near)
	case !slices.Contains([]Tier{"", HBM, DDR, SSD}, r.Tier):
		return fmt.Errorf("tier %q; want %s, %s or %s", r.Tier, HBM, DDR, SSD)
	case r.Parts < 0 || r.Parts > min(dim, net.ranks):
		return fmt.Errorf("in %d parts; want at most %d values or %d ranks", r.Parts, dim, net.ranks)
	case len(r.Ranks) > 0:
		return r.checkRanks(dim, net)
	}
	return nil
}

// checkRanks reports ranks that the parts of a table cannot be on.
func (r *Rule) checkRanks(dim int, net *network) error {
	step := 1 // between ranks with which a part can begin
	switch r.Layout {
	case ServerRowWise, Grid:
		step = net.perServer
	case TableWise, ColumnWise:
	default:
		return fmt.Errorf("ranks %v with layout %q; want none, or another layout", r.Ranks, r.Layout)
	}
	cut := r.Layout == ColumnWise || r.Layout == Grid
	switch {
	case !cut && len(r.Ranks) != 1:
		return fmt.Errorf("ranks %v; want the one rank of a %s table", r.Ranks, r.Layout)
	case cut && (len(r.Ranks) > dim || r.Parts > 0 && len(r.Ranks) != r.Parts):
		return fmt.Errorf("%d ranks for %d parts of %d values; want one rank for each part", len(r.Ranks),
			r.Parts, dim)
	}
	for _, rank := range r.Ranks {
		switch {
		case rank < 0 || rank+step > net.ranks:
			return fmt.Errorf("rank %d; want 0 to %d on %d GPUs", rank, net.ranks-step, net.ranks)
		case rank%step != 0:
			return fmt.Errorf("rank %d; want the first of a server's %d ranks in layout %s", rank, step,
				r.Layout)
		}
	}
	return nil
}

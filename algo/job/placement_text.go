package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/protocol/msg"
)

// PlacementSyntax is the text form of a placement, for help texts.
const PlacementSyntax = `apart, together, workers, colocated, or processes as ` +
	`"data-loader, coordinator; embedding-worker 0, nn-worker 0; ..."`

// ParsePlacement reads a placement: a name, or processes with semicolons between them, each of them roles
// with commas between them, as "data-loader, coordinator; embedding-worker 0, nn-worker 0". The number of a
// role may be left out where it is the only one of its kind. The error names what is unknown, and the nearest
// that is known.
//
// It does not check that a job has these roles, each once: Processes does.
func ParsePlacement(text string) (p Placement, err error) {
	if !strings.ContainsAny(text, ",; ") {
		if _, err := msg.ParseRole(text); err != nil {
			return p, p.setName(text)
		}
	}
	var lists [][]string
	for process := range strings.SplitSeq(text, ";") {
		lists = append(lists, strings.Split(process, ","))
	}
	return p, p.setLists(lists)
}

// setName reads the name of a placement.
func (p *Placement) setName(name string) error {
	if !slices.Contains(Placements(), name) {
		return errors.New(Unknown(name, Placements()))
	}
	*p = Placement{name: name}
	return nil
}

// setLists reads the roles of every process.
func (p *Placement) setLists(processes [][]string) error {
	*p = Placement{}
	for i, texts := range processes {
		var list []msg.Address
		for _, text := range texts {
			at, err := parseAddress(text)
			if err != nil {
				return fmt.Errorf("process %d: %w", i+1, err)
			}
			list = append(list, at)
		}
		if len(list) == 0 {
			return fmt.Errorf("process %d has no role", i+1)
		}
		p.lists = append(p.lists, list)
	}
	if len(p.lists) == 0 {
		return fmt.Errorf("no process; list them, or write one of %s", strings.Join(Placements(), ", "))
	}
	return nil
}

// parseAddress reads the name of a role and its number, which may be left out.
func parseAddress(text string) (at msg.Address, err error) {
	name, index, numbered := strings.Cut(strings.TrimSpace(text), " ")
	if at.Role, err = msg.ParseRole(name); err != nil {
		var known []string
		for _, r := range msg.Roles() {
			known = append(known, r.String())
		}
		return at, fmt.Errorf("role %s", Unknown(name, known))
	}
	if !numbered {
		return msg.Address{Role: at.Role, Index: anyIndex}, nil
	}
	n, err := strconv.ParseUint(strings.TrimSpace(index), 10, 31)
	if err != nil {
		return at, fmt.Errorf("%q is no number; write %s 0", shortened(index), at.Role)
	}
	return msg.Address{Role: at.Role, Index: int32(n)}, nil
}

// ParseProcess reads the words of a command line: the names of roles, each with its number behind it, or
// without one for 0.
func ParseProcess(words []string) (Process, error) {
	var texts []string
	for _, word := range words {
		if _, err := strconv.Atoi(word); err == nil && len(texts) > 0 {
			texts[len(texts)-1] += " " + word
		} else {
			texts = append(texts, word)
		}
	}
	var p Process
	for _, text := range texts {
		at, err := parseAddress(text)
		if err != nil {
			return nil, err
		}
		at.Index = max(at.Index, 0)
		if p.Has(at) {
			return nil, fmt.Errorf("%v is there twice", at)
		}
		p = append(p, at)
	}
	return p, nil
}

// written returns the text of a role that parseAddress reads.
func written(at msg.Address) string {
	if at.Index == anyIndex {
		return at.Role.String()
	}
	return at.String()
}

// texts returns what setLists reads.
func (p *Placement) texts() (all [][]string) {
	for _, list := range p.lists {
		var texts []string
		for _, at := range list {
			texts = append(texts, written(at))
		}
		all = append(all, texts)
	}
	return all
}

// String returns the text that ParsePlacement reads.
func (p Placement) String() string {
	if p.Named() {
		if p.name == "" {
			return Apart
		}
		return p.name
	}
	var processes []string
	for _, texts := range p.texts() {
		processes = append(processes, strings.Join(texts, ", "))
	}
	return strings.Join(processes, "; ")
}

// MarshalText returns the text that UnmarshalText reads. The error is always nil.
func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText sets p as ParsePlacement reads it.
func (p *Placement) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePlacement(string(text))
	return err
}

// MarshalYAML returns a name, or a list of lists of roles.
func (p Placement) MarshalYAML() (any, error) {
	if p.Named() {
		return p.String(), nil
	}
	return p.texts(), nil
}

// UnmarshalYAML reads a name, a text as ParsePlacement reads it, or a list with a list of roles for every
// process.
func (p *Placement) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return p.UnmarshalText([]byte(node.Value))
	}
	var lists [][]string
	if err := node.Decode(&lists); err != nil {
		return fmt.Errorf("want %s, or a list of roles for every process, as [[data-loader, embedding-ps "+
			"0], [nn-worker 0]]",
			strings.Join(Placements(), ", "))
	}
	return p.setLists(lists)
}

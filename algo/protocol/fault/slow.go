package fault

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Limits of slow roles.
const (
	slowFactorMax = 1000
	slowMax       = 1000
)

// Slow makes roles slow for the whole run. What is slow is their work (role.Work), not their messages or the
// sums over ranks: a piece of work takes Factor times as long, and what did it does nothing else until
// then. The longer time uses no more of a shared host than the work itself.
type Slow struct {
	// Role is one instance, such as nn-worker/1, or all instances of a role, such as embedding-ps.
	Role   SlowTarget `yaml:"role"`
	Factor float64    `yaml:"factor"` // how many times as long work takes; 1 … 1000
}

// SlowTarget is one instance of a role, or all.
type SlowTarget struct {
	Role  msg.Role
	Index int32 // from 0, or AllInstances
}

// AllInstances is the index of a SlowTarget that means every instance of its role.
const AllInstances = -1

// Slows is the section `slow:` of a job. An item about one instance takes precedence over one about all
// instances of its role. The zero value slows nothing.
type Slows []Slow

// Factor returns how many times as long the work of a role takes; 1 for a role that is not slow.
func (s Slows) Factor(at msg.Address) float64 {
	factor := 1.0
	for _, x := range s {
		switch {
		case x.Role.Role != at.Role:
		case x.Role.Index == at.Index:
			return x.Factor
		case x.Role.Index == AllInstances:
			factor = x.Factor
		}
	}
	return factor
}

// Differ reports whether some instances of a role are slower than others.
func (s Slows) Differ(r msg.Role) bool {
	for _, x := range s {
		if x.Role.Role == r && x.Role.Index != AllInstances {
			return true
		}
	}
	return false
}

// Validate returns an error that names the key of the first item that is out of range.
func (s Slows) Validate() error {
	if len(s) > slowMax {
		return fmt.Errorf("slow: %d items; want at most %d", len(s), slowMax)
	}
	seen := map[SlowTarget]bool{}
	for i, x := range s {
		switch {
		case !(x.Factor >= 1 && x.Factor <= slowFactorMax):
			return fmt.Errorf("slow[%d].factor = %g; want 1 to %d", i, x.Factor, slowFactorMax)
		case x.Role.Role == msg.Coordinator:
			return fmt.Errorf("slow[%d].role = %v: a coordinator has no work that could be slow", i, x.Role)
		case seen[x.Role]:
			return fmt.Errorf("slow[%d].role = %v is there twice; give it one factor", i, x.Role)
		}
		seen[x.Role] = true
	}
	return nil
}

// ValidateRoles returns an error that names the first item about a role that the run does not have.
func (s Slows) ValidateRoles(cfg *role.Config) error {
	for i, x := range s {
		switch n := cfg.Count(x.Role.Role); {
		case n == 0:
			return fmt.Errorf("slow[%d].role = %v: the mode has no such role", i, x.Role)
		case x.Role.Index >= n:
			return fmt.Errorf("slow[%d].role = %v; the job has %d of %s, counted from 0", i, x.Role, n,
				x.Role.Role)
		}
	}
	return nil
}

// ParseSlow reads the text form of slow roles: items ROLE=FACTOR or ROLE/INDEX=FACTOR, separated by commas,
// as in nn-worker/1=1.5,embedding-ps=2. "none" and "" slow nothing.
func ParseSlow(text string) (Slows, error) {
	var s Slows
	if text = strings.TrimSpace(text); text == "" || text == none {
		return s, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		who, factor, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return nil, fmt.Errorf("%q is not ROLE/INDEX=FACTOR; write slow roles as "+
				"nn-worker/1=1.5,embedding-ps=2", item)
		}
		var x Slow
		err := x.Role.UnmarshalText([]byte(who))
		if err != nil {
			return nil, err
		}
		if x.Factor, err = strconv.ParseFloat(factor, 64); err != nil {
			return nil, fmt.Errorf("%s: %q is not a factor, such as 1.5", item, factor)
		}
		s = append(s, x)
	}
	return s, s.Validate()
}

// String returns the text that ParseSlow reads.
func (s Slows) String() string {
	if len(s) == 0 {
		return none
	}
	items := make([]string, len(s))
	for i, x := range s {
		items[i] = fmt.Sprintf("%v=%g", x.Role, x.Factor)
	}
	return strings.Join(items, ",")
}

// String returns ROLE, or ROLE/INDEX of one instance.
func (t SlowTarget) String() string {
	if t.Index == AllInstances {
		return t.Role.String()
	}
	return fmt.Sprintf("%v/%d", t.Role, t.Index)
}

// UnmarshalText reads what String returns.
func (t *SlowTarget) UnmarshalText(text []byte) (err error) {
	name, index, one := strings.Cut(string(text), "/")
	read := SlowTarget{Index: AllInstances}
	if read.Role, err = msg.ParseRole(name); err != nil {
		return err
	}
	if one {
		if read.Index, err = parseInt32(index); err == nil && read.Index < 0 {
			err = errors.New("negative")
		}
		if err != nil {
			return fmt.Errorf("%q is not an instance of %s; write %s/0", text, name, name)
		}
	}
	*t = read
	return nil
}

// MarshalText returns the text of String.
func (t SlowTarget) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

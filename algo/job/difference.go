package job

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Difference is a setting in which two jobs differ.
type Difference struct {
	Path      string // in a job file, as training.global-batch
	Here      any    // nil: left out
	Elsewhere any
}

// String says what the setting is on both sides. Of a text of several lines it has the first that differs.
func (d Difference) String() string {
	if here, ok := d.Here.(string); ok && strings.Contains(here, "\n") {
		if there, ok := d.Elsewhere.(string); ok {
			line, a, b := changedLine(here, there)
			return fmt.Sprintf("line %d of %s is %q, and %q there", line, d.Path, a, b)
		}
	}
	text := func(value any) string {
		if value == nil {
			return "none"
		}
		return fmt.Sprint(value)
	}
	return fmt.Sprintf("%s is %s, and %s there", d.Path, text(d.Here), text(d.Elsewhere))
}

// DifferenceButRoles returns the first setting, by its path, in which two jobs differ of those that
// Fingerprint covers, except for the numbers and the placement of roles, and where rows are; nil if there is
// none. So rows.hot is no difference if the hot rows of one of them are on GPUs.
func (j Job) DifferenceButRoles(other Job) (*Difference, error) {
	other.Roles = j.Roles
	if j.HasTiers() || other.HasTiers() {
		j.Rows.Hot, other.Rows.Hot = Hot{}, Hot{}
	}
	var sides [2]map[string]any
	for i, side := range []Job{j, other} {
		text, err := yaml.Marshal(side.compared().WithRowsOnPSs())
		if err == nil {
			err = yaml.Unmarshal(text, &sides[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return difference("", sides[0], sides[1]), nil
}

// difference returns the first difference below a path; nil if there is none.
func difference(path string, here, elsewhere any) *Difference {
	a, isMap := here.(map[string]any)
	b, both := elsewhere.(map[string]any)
	if !isMap || !both {
		if reflect.DeepEqual(here, elsewhere) {
			return nil
		}
		return &Difference{path, here, elsewhere}
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		below := key
		if path != "" {
			below = path + "." + key
		}
		if d := difference(below, a[key], b[key]); d != nil {
			return d
		}
	}
	return nil
}

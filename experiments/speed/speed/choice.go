package speed

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tandem/internal/cli"
)

// axis is a property of cases by which a flag chooses.
type axis struct {
	flag, usage string
	// of returns the property of a case as text, or "" if the case does not have it.
	of func(c *testCase) string
}

// axes returns the properties by which flags choose.
func axes() []axis {
	ofRows := func(property func(r *rows) int) func(c *testCase) string {
		return func(c *testCase) string {
			if c.Rows == nil {
				return ""
			}
			return strconv.Itoa(property(c.Rows))
		}
	}
	return []axis{
		{"only", "measure cases of these kinds: " + strings.Join(kinds(), ", ") + " (default: all)",
			func(c *testCase) string { return c.Kind }},
		{"rows", "of cases with rows, measure those with these totals: 1000000, 10000000 (default: all)",
			ofRows(func(r *rows) int { return r.Total })},
		{"dims", "of cases with rows, measure those of these dimensions: 16, 32, 64, 128 (default: all)",
			ofRows(func(r *rows) int { return r.Dim })},
		{"batches", "measure cases of these batches, in samples: 256, 4096 (default: all)",
			func(c *testCase) string { return strconv.Itoa(c.Batch) }},
		{"threads", "measure cases with these numbers of threads: 1, 2 (default: all)",
			func(c *testCase) string { return strconv.Itoa(c.Threads) }},
	}
}

// choice has the values of the flags by their names. A flag that was not set chooses all cases.
type choice map[string]*[]string

// newChoice returns a choice of all cases.
func newChoice() choice {
	c := choice{}
	for _, a := range axes() {
		c[a.flag] = new([]string)
	}
	return c
}

// addFlags adds the flags.
func (c choice) addFlags(flags *pflag.FlagSet) {
	for _, a := range axes() {
		flags.StringSliceVar(c[a.flag], a.flag, nil, a.usage)
	}
}

// arguments returns the flags that were set.
func (c choice) arguments() (words []string) {
	for _, a := range axes() {
		if values := *c[a.flag]; len(values) > 0 {
			words = append(words, "--"+a.flag, strings.Join(values, ","))
		}
	}
	return words
}

// of returns the chosen cases. A value that no case has is a usage error, and so is a choice without cases.
func (c choice) of(cases []testCase) ([]testCase, error) {
	chosen := slices.Clone(cases)
	for _, a := range axes() {
		values := *c[a.flag]
		if len(values) == 0 {
			continue
		}
		known := knownValues(cases, a)
		for _, value := range values {
			if !slices.Contains(known, value) {
				return nil, cli.UsageError("this version has "+strings.Join(known, ", "), "--%s %s: there "+
					"is no such case", a.flag, value)
			}
		}
		chosen = slices.DeleteFunc(chosen, func(one testCase) bool {
			value := a.of(&one)
			return value != "" && !slices.Contains(values, value)
		})
	}
	if len(chosen) == 0 {
		return nil, cli.UsageError("leave one of them out", "%s: no case has all of these",
			strings.Join(c.arguments(), " "))
	}
	return chosen, nil
}

// knownValues returns the values of a property that cases have, in their order.
func knownValues(cases []testCase, a axis) (known []string) {
	for _, one := range cases {
		if value := a.of(&one); value != "" && !slices.Contains(known, value) {
			known = append(known, value)
		}
	}
	return known
}

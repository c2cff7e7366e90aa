package speed

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
)

// chosen returns the plan of flags.
func chosen(t *testing.T, args string) (*plan, error) {
	t.Helper()
	c := newChoice()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.addFlags(flags)
	if err := flags.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return newPlan(report.Options{Seeds: 2}, c)
}

// Flags choose cases by what they have.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		args  string
		cases int
	}{
		{"--only dense --batches 256 --threads 2", 2},
		{"--only sparse --rows 10000000 --dims 16,128", 2 * 2 * 2 * 2 * 2},
		{"--only lookup,update --dims 64", 2 * 2 * 2},
		{"--only sparse,dense --dims 16 --batches 256 --threads 1", 2*2*2 + 2},
	} {
		p, err := chosen(t, c.args)
		if err != nil || len(p.Cases) != c.cases {
			t.Errorf("%s: %d cases, error %v, want %d", c.args, len(p.Cases), err, c.cases)
		}
	}
}

// A value that no case has, and values that no case has together, are errors.
func TestChoiceOfNothing(t *testing.T) {
	for args, want := range map[string]string{
		"--dims 16,48":              "--dims 48: there is no such case",
		"--only rows":               "--only rows: there is no such case",
		"--only dense --batches 64": "--batches 64: there is no such case",
		"--only train --threads 1":  "--only train --threads 1: no case has all of these",
	} {
		if _, err := chosen(t, args); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
}

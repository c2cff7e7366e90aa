package speed

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
)

// chosen returns the experiment with flags.
func chosen(t *testing.T, args ...string) *Experiment {
	t.Helper()
	e := New()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	e.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return e
}

// Flags choose cases by what they have, and repeat the run.
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
		e := chosen(t, strings.Fields(c.args)...)
		if got := strings.Join(e.Arguments(), " "); got != c.args {
			t.Errorf("arguments %s, want %s", got, c.args)
		}
		p, err := newPlan(report.Options{Seeds: 2}, e.choice, 0)
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
		e := chosen(t, strings.Fields(args)...)
		if _, err := e.Run(t.Context(), report.Options{Seeds: 2}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
}

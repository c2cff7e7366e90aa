package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/job"
)

func parseGrid(g *Grid, args ...string) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	g.AddFlags(flags)
	return flags.Parse(args)
}

// Numbers are sorted, and modes keep their order.
func TestGrid(t *testing.T) {
	g := NewGrid(Taus, Alphas, Modes, Rates)
	if got := g.Taus(0, 3); !slices.Equal(got, []int{0, 3}) {
		t.Errorf("without flags: %v", got)
	}
	err := parseGrid(&g, "--taus", "15, 0,3", "--alphas", "0.5,0.01", "--modes", "sync,hybrid", "--rates",
		"1,1e-3")
	if err != nil {
		t.Fatal(err)
	}
	if taus, modes := g.Taus(1), g.Modes(job.SSP); !slices.Equal(taus, []int{0, 3, 15}) ||
		!slices.Equal(modes, []string{job.Sync, job.Hybrid}) {
		t.Errorf("taus %v, modes %v", taus, modes)
	}
	if a, r := g.Alphas(1), g.Rates(); !slices.Equal(a, []float64{0.01, 0.5}) ||
		!slices.Equal(r, []float64{0.001, 1}) {
		t.Errorf("alphas %v, rates %v", a, r)
	}
}

// Each wrong value is one error that says what is wanted.
func TestGridErrors(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{Taus, "0,-1", `"-1": want whole numbers from 0 to 4096`},
		{Taus, "0,4097", `"4097": want whole numbers`},
		{Taus, "3,1,3", "3 is there twice"},
		{Taus, "", `"": want whole numbers`},
		{Alphas, "1", "above 0 and below 1"},
		{Alphas, "NaN", "above 0 and below 1"},
		{Alphas, "0.1,1e-1", "0.1 is there twice"},
		{Modes, "sync,hybird", `unknown mode "hybird"; did you mean hybrid?`},
		{Modes, "zzzzzzzzzzzzzzz", "modes are sequential, sync"},
		{Modes, "sync,sync", "sync is there twice"},
		{Rates, "0", "finite numbers above 0"},
		{Rates, "Inf", "finite numbers above 0"},
	} {
		g := NewGrid(Taus, Alphas, Modes, Rates)
		if err := parseGrid(&g, "--"+c.flag, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--%s %s: %v, want %q", c.flag, c.value, err, c.want)
		}
	}
	g := NewGrid(Taus)
	if err := parseGrid(&g, "--modes", "sync"); err == nil {
		t.Error("a grid has a flag for an axis it does not have")
	}
}

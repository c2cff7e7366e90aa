package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tandem/algo/job"
)

// Axes of a Grid. The text of an axis is the name of its flag.
const (
	Taus   = "taus"   // bounds on own staleness, in steps
	Alphas = "alphas" // shares of rows with the most frequent id
	Modes  = "modes"  // training modes
	Rates  = "rates"  // learning rates
)

// Grid holds the flags that set the values an experiment runs through, such as --taus 0,3,15. An experiment
// makes a Grid with the axes it has,
//
//	grid := report.NewGrid(report.Taus, report.Alphas)
//
// has grid.AddFlags as its AddFlags, and asks for the values with grid.Taus(0, 3, 15), whose arguments are
// the values without a flag.
type Grid struct {
	taus   list[int]
	alphas list[float64]
	modes  list[string]
	rates  list[float64]
	axes   []string
}

// NewGrid returns a grid with some axes, without values.
func NewGrid(axes ...string) Grid {
	return Grid{
		taus: list[int]{parse: parseTau}, alphas: list[float64]{parse: parseAlpha},
		modes: list[string]{parse: parseMode, unsorted: true}, rates: list[float64]{parse: parseRate},
		axes: axes,
	}
}

// AddFlags adds a flag for every axis. It forgets the values of an earlier command line.
func (g *Grid) AddFlags(flags *pflag.FlagSet) {
	*g = NewGrid(g.axes...)
	for _, a := range []struct {
		axis  string
		value pflag.Value
		help  string
	}{
		{Taus, &g.taus, "set τ, in steps: how late rows may be, or are, such as 0,3,15"},
		{Alphas, &g.alphas, "set the shares α of rows with the most frequent id, such as 0.01,0.5"},
		{Modes, &g.modes, "set the modes, such as sync,hybrid"},
		{Rates, &g.rates, "set the learning rates of rows, such as 0.03,0.1,0.3"},
	} {
		if slices.Contains(g.axes, a.axis) {
			flags.Var(a.value, a.axis, a.help)
		}
	}
}

// Taus returns the values of --taus in ascending order, or those of the plan if the flag was not set.
func (g *Grid) Taus(plan ...int) []int { return g.taus.or(plan) }

// Alphas returns the values of --alphas in ascending order, or those of the plan if the flag was not set.
func (g *Grid) Alphas(plan ...float64) []float64 { return g.alphas.or(plan) }

// Modes returns the values of --modes in the order of the flag, or those of the plan if the flag was not set.
func (g *Grid) Modes(plan ...string) []string { return g.modes.or(plan) }

// Rates returns the values of --rates in ascending order, or those of the plan if the flag was not set.
func (g *Grid) Rates(plan ...float64) []float64 { return g.rates.or(plan) }

// list is a flag with values separated by commas. It implements pflag.Value.
type list[T cmp.Ordered] struct {
	values   []T
	parse    func(text string) (T, error)
	unsorted bool
}

// or returns the values, or others if the flag was not set.
func (l *list[T]) or(others []T) []T {
	if l.values == nil {
		return others
	}
	return slices.Clone(l.values)
}

// Set implements pflag.Value.
func (l *list[T]) Set(text string) error {
	var values []T
	for _, word := range strings.Split(text, ",") {
		v, err := l.parse(strings.TrimSpace(word))
		switch {
		case err != nil:
			return err
		case slices.Contains(values, v):
			return fmt.Errorf("%v is there twice", v)
		}
		values = append(values, v)
	}
	if !l.unsorted {
		slices.Sort(values)
	}
	l.values = values
	return nil
}

// String implements pflag.Value.
func (l *list[T]) String() string {
	words := make([]string, len(l.values))
	for i, v := range l.values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ",")
}

// Type implements pflag.Value.
func (l *list[T]) Type() string { return "list" }

// tauMax is the largest τ of a grid: a queue of more batches is longer than most runs.
const tauMax = 4096

func parseTau(text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 || v > tauMax {
		return 0, fmt.Errorf("%q: want whole numbers from 0 to %d", text, tauMax)
	}
	return v, nil
}

func parseAlpha(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return 0, fmt.Errorf("%q: want numbers above 0 and below 1", text)
	}
	return v, nil
}

func parseRate(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%q: want finite numbers above 0", text)
	}
	return v, nil
}

func parseMode(text string) (string, error) {
	if slices.Contains(job.Modes(), text) {
		return text, nil
	}
	if near := job.Nearest(text, job.Modes()); near != "" {
		return "", fmt.Errorf("unknown mode %q; did you mean %s?", text, near)
	}
	return "", fmt.Errorf("unknown mode %q; modes are %s", text, strings.Join(job.Modes(), ", "))
}

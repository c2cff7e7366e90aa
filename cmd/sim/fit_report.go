package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tandem/internal/cli"
	"tandem/sim/fit"
	"tandem/sim/preset"
	"tandem/sim/system"
)

// saysLittle is the share of a range from which on a step says little about it.
const saysLittle = 0.8

// writeFitTables writes what the steps say about quantities, and how well they are predicted.
func writeFitTables(w io.Writer, name string, r *fit.Posterior) error {
	sorted := slices.Clone(r.Quantities)
	slices.SortStableFunc(sorted, func(a, b fit.Quantity) int { return cmp.Compare(a.Remains, b.Remains) })
	t := cli.Table{Header: []string{"quantity of " + name, "range before", "80 % after"}, Words: 1}
	var wide []string
	for _, q := range sorted {
		if q.Remains >= saysLittle {
			wide = append(wide, q.Name)
			continue
		}
		t.Add(q.Name, q.PriorLow+" to "+q.PriorHigh, q.Low+" to "+q.High)
	}
	if len(t.Rows) > 0 {
		if err := t.WriteText(w); err != nil {
			return err
		}
	}
	if len(wide) > 0 {
		cli.Paragraph(w, fmt.Sprintf("Alone, the steps say little about %s: at least %.0f %% of the width "+
			"remain.", strings.Join(wide, ", "), 100*saysLittle), "")
	}
	for _, pair := range r.Confounded {
		way := "is better where the other is better"
		if pair.Correlation < 0 {
			way = "is better where the other is worse"
		}
		cli.Paragraph(w, fmt.Sprintf("The steps cannot tell %s and %s apart: one %s (correlation %.2f).",
			pair.A, pair.B, way, pair.Correlation), "")
	}
	t = cli.Table{Header: []string{"step, ms", "measured", "before", "after", "range after"}, Words: 1}
	for _, s := range r.Steps {
		t.Add(s.Name, digits(1e3*s.Measured), digits(1e3*s.Before), digits(1e3*s.After),
			digits(1e3*s.Low)+" to "+digits(1e3*s.High))
	}
	return t.WriteText(w)
}

// calibratedProfile is the profile of calibrated system software.
type calibratedProfile struct {
	system    *system.Profile
	asked     string // the name or file of the system
	name      string
	posterior *fit.Posterior
}

// setOrigin gives the calibration its source and its date.
func setOrigin(r *fit.Posterior, now time.Time) {
	steps := make([]string, len(r.Steps))
	for i, s := range r.Steps {
		steps[i] = fmt.Sprintf("%s: %s ms", s.Name, digits(1e3*s.Measured))
	}
	r.Calibration.Source = "cmd/sim calibrate: " + strings.Join(steps, "; ")
	r.Calibration.Date = now.Format(time.DateOnly)
}

// text returns the YAML of the profile: a difference from a built-in one, or a user's file with a
// calibration.
func (p *calibratedProfile) text() (string, error) {
	var b strings.Builder
	if preset.IsFile(p.asked) {
		text, err := system.Systems.Text(p.asked)
		if err != nil {
			return "", err
		}
		b.Write(text)
		b.WriteString("\n")
	} else {
		name := p.name
		if name == "" {
			name = p.system.Name + "-calibrated"
		}
		fmt.Fprintf(&b, "name: %q\narchitecture: %s\nbase: %s\n", name, p.system.Architecture, p.asked)
		fmt.Fprintf(&b, "note: %q\n", fmt.Sprintf("%s, calibrated to measured steps", p.asked))
	}
	c := p.posterior.Calibration
	b.WriteString(c.Text())
	return b.String(), nil
}

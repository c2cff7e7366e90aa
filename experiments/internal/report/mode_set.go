package report

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// ModeFlags are the flags --modes and --mode-set of an experiment that compares modes.
type ModeFlags struct {
	Grid
	settings []string
}

// NewModeFlags returns the flags, not set, and those of other axes.
func NewModeFlags(axes ...string) ModeFlags {
	return ModeFlags{Grid: NewGrid(append([]string{Modes}, axes...)...)}
}

// AddFlags adds the flags.
func (m *ModeFlags) AddFlags(flags *pflag.FlagSet) {
	m.Grid.AddFlags(flags)
	flags.StringSliceVar(&m.settings, "mode-set", nil, "set a setting of a mode, such as every=16; see "+
		"above;\nmay be repeated")
}

// Settle adds the settings to a job that runs in each of some modes. It returns, by mode, the values of the
// settings that only this mode has, or a usage error for a setting that no mode has.
func (m *ModeFlags) Settle(j *job.Job, modes []string) (map[string]map[string]int, error) {
	if err := j.AddModeSettings(m.settings, modes); err != nil {
		return nil, cli.UsageError("see --help for the settings of each mode", "--mode-set: %v", err)
	}
	all := map[string]map[string]int{}
	for _, mode := range modes {
		one := j.InMode(mode)
		if values := one.ModeValues(); len(values) > 0 {
			all[mode] = values
		}
	}
	return all, nil
}

// With returns one mode that is always compared, then the other values of --modes; or the modes of the plan
// if the flag was not set.
func (m *ModeFlags) With(always string, plan []string) []string {
	modes := m.Modes()
	if modes == nil {
		return plan
	}
	return append([]string{always},
		slices.DeleteFunc(modes, func(mode string) bool { return mode == always })...)
}

// ModeSettingsNote returns a note with the values of the settings that only one mode has.
func ModeSettingsNote(t job.Job, modes []string) string {
	var texts []string
	for _, mode := range modes {
		one := t.InMode(mode)
		if text := one.ModeSettingsText(); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return "No mode has settings of its own."
	}
	return "Settings that only one mode has: " + strings.Join(texts, "; ") + "."
}

package report

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// ModeSet is the flag --mode-set of an experiment that compares modes.
type ModeSet struct{ texts []string }

// AddFlags adds the flag.
func (m *ModeSet) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&m.texts, "mode-set", nil, "set a setting of a mode, such as every=16; see "+
		"above;\nmay be repeated")
}

// Apply adds the settings to a job that runs in each of some modes. It returns a usage error for a setting
// that no mode has.
func (m *ModeSet) Apply(t *job.Job, modes []string) error {
	if err := t.AddModeSettings(m.texts, modes); err != nil {
		return cli.UsageError("see --help for the settings of each mode", "--mode-set: %v", err)
	}
	return nil
}

// Settle adds the settings to a job that runs in each of some modes, and returns what ModeSettings returns.
func (m *ModeSet) Settle(j *job.Job, modes []string) (map[string]map[string]int, error) {
	err := m.Apply(j, modes)
	return ModeSettings(*j, modes), err
}

// ModeFlags are the flags --modes and --mode-set of an experiment that compares modes.
type ModeFlags struct {
	Grid
	ModeSet
}

// NewModeFlags returns the flags, not set, and those of other axes.
func NewModeFlags(axes ...string) ModeFlags {
	return ModeFlags{Grid: NewGrid(append([]string{Modes}, axes...)...)}
}

// AddFlags adds the flags.
func (m *ModeFlags) AddFlags(flags *pflag.FlagSet) {
	m.Grid.AddFlags(flags)
	m.ModeSet.AddFlags(flags)
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

// ModeSettings returns, by mode, the values of the settings that only this mode has.
func ModeSettings(t job.Job, modes []string) map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, mode := range modes {
		one := t.InMode(mode)
		if values := one.ModeValues(); len(values) > 0 {
			all[mode] = values
		}
	}
	return all
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

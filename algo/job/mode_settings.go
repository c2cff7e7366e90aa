package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/protocol/pace"
)

// ModeValues returns the value of every setting that the job's mode declares for
// itself, defaults included; none in sequential training.
func (j *Job) ModeValues() map[string]int {
	values := map[string]int{}
	for _, s := range pace.SettingsOf(j.Training.Mode) {
		value, given := j.Training.ModeSettings[s.Name]
		if !given {
			value = s.DefaultAt(j.Roles.Ranks)
		}
		values[s.Name] = value
	}
	return values
}

// ModeSettingsText writes the mode and the values of its settings, as in "ssp: slack = 3";
// "" where the mode has none.
func (j *Job) ModeSettingsText() string {
	var texts []string
	values := j.ModeValues()
	for _, s := range pace.SettingsOf(j.Training.Mode) {
		texts = append(texts, fmt.Sprintf("%s = %d", s.Name, values[s.Name]))
	}
	if len(texts) == 0 {
		return ""
	}
	return j.Training.Mode + ": " + strings.Join(texts, ", ")
}

// Resolved returns the job with the values of all settings of its mode, defaults included, for a file that
// says what ran. Settings of other modes stay as they were given.
func (j Job) Resolved() Job {
	values := j.ModeValues()
	maps.Copy(values, j.Training.ModeSettings)
	j.Training.ModeSettings = values
	return j
}

// ownSettings returns those of the mode settings that a mode has.
func ownSettings(settings map[string]int, mode string) map[string]int {
	own := map[string]int{}
	for _, s := range pace.SettingsOf(mode) {
		if value, given := settings[s.Name]; given {
			own[s.Name] = value
		}
	}
	return own
}

// AddModeSettings adds settings that are written as NAME=VALUE, such as "every=16", and replaces those of the
// same names. The job will run in each of the modes (see InMode). The error names a text that is malformed, a
// setting that none of the modes has, or a value out of the range of one of them.
func (j *Job) AddModeSettings(texts, modes []string) error {
	added, err := parseModeSettings(texts)
	if err != nil {
		return err
	}
	if err := eachModeSetting(added, func(name string, value int, owners []string) error {
		return checkAmong(modes, name, value, owners, j.Roles.Ranks)
	}); err != nil {
		return err
	}
	all := maps.Clone(j.Training.ModeSettings)
	if all == nil {
		all = map[string]int{}
	}
	maps.Copy(all, added)
	j.Training.ModeSettings = all
	return nil
}

// ValidateModeSettings reports the first mode setting that none of the modes has, or that is out of its range
// in one of them. The job will run in each of the modes (see InMode). A setting that only the job's own mode
// has is allowed, because InMode drops it.
func (j *Job) ValidateModeSettings(modes []string) error {
	return inModeSettings(eachModeSetting(j.Training.ModeSettings,
		func(name string, value int, owners []string) error {
			isRun := func(mode string) bool { return slices.Contains(modes, mode) }
			if slices.Contains(owners, j.Training.Mode) && !slices.ContainsFunc(owners, isRun) {
				return nil
			}
			return checkAmong(modes, name, value, owners, j.Roles.Ranks)
		}))
}

// validateElsewhere is ValidateModeSettings for a job that may yet be put into any
// mode: a setting that its own mode does not have must be in range in some other.
func (j *Job) validateElsewhere() error {
	return inModeSettings(eachModeSetting(j.Training.ModeSettings,
		func(name string, value int, owners []string) (problem error) {
			if slices.Contains(owners, j.Training.Mode) {
				owners = []string{j.Training.Mode}
			}
			for _, mode := range owners {
				if problem = checkModeSetting(mode, name, value, j.Roles.Ranks); problem == nil {
					return nil
				}
			}
			return problem
		}))
}

// inModeSettings says where in a job an error is.
func inModeSettings(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("training.mode-settings: %w", err)
}

// eachModeSetting calls check with every setting and the modes that have it, in the order
// of names, until one returns an error. A setting that no mode has is an error.
func eachModeSetting(settings map[string]int, check func(name string, value int,
	owners []string) error) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		owners := modesWith(name)
		if len(owners) == 0 {
			return errors.New(Unknown(name, modeSettingNames()))
		}
		if err := check(name, settings[name], owners); err != nil {
			return err
		}
	}
	return nil
}

// checkAmong reports a setting that none of the modes has, or that is out of its range in one of them.
func checkAmong(modes []string, name string, value int, owners []string, ranks int) error {
	found := false
	for _, mode := range owners {
		if !slices.Contains(modes, mode) {
			continue
		}
		found = true
		if err := checkModeSetting(mode, name, value, ranks); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s is a setting of %s, not of %s", name, list(owners, "and"), list(modes, "or"))
	}
	return nil
}

// checkModeSetting reports a value out of the range that a mode declares.
func checkModeSetting(mode, name string, value, ranks int) error {
	s, _ := modeSetting(mode, name)
	if err := s.Check(value, ranks); err != nil {
		return fmt.Errorf("%w in mode %s", err, mode)
	}
	return nil
}

// modeSetting returns the setting of a name that a mode declares.
func modeSetting(mode, name string) (pace.Setting, bool) {
	for _, s := range pace.SettingsOf(mode) {
		if s.Name == name {
			return s, true
		}
	}
	return pace.Setting{}, false
}

// modesWith returns the modes that declare a setting of a name.
func modesWith(name string) (modes []string) {
	for _, mode := range pace.Modes() {
		if _, has := modeSetting(mode, name); has {
			modes = append(modes, mode)
		}
	}
	return modes
}

// modeSettingNames returns the names of the settings of all modes, each once.
func modeSettingNames() (names []string) {
	for _, mode := range pace.Modes() {
		for _, s := range pace.SettingsOf(mode) {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// list writes words as "a, b and c".
func list(words []string, last string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
	}
	return strings.Join(words, "")
}

// parseModeSettings reads settings that are written as NAME=VALUE.
func parseModeSettings(texts []string) (map[string]int, error) {
	settings := map[string]int{}
	for _, text := range texts {
		name, number, found := strings.Cut(text, "=")
		value, err := strconv.Atoi(number)
		if !found || name == "" || err != nil {
			return nil, fmt.Errorf("%q: want NAME=VALUE with a whole number, as every=16", shortened(text))
		}
		if _, twice := settings[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		settings[name] = value
	}
	return settings, nil
}

// ModeSettingsHelp lists the settings of all modes with defaults and ranges, for the
// help text of a command. Lines have at most 80 columns.
func ModeSettingsHelp() string {
	mostMode, mostName, ofRanks := 0, 0, false
	for _, mode := range pace.Modes() {
		for _, s := range pace.SettingsOf(mode) {
			mostMode, mostName = max(mostMode, len(mode)), max(mostName, len(s.Name))
			ofRanks = ofRanks || s.Default.OfRanks() || s.Min.OfRanks() || s.Max.OfRanks()
		}
	}
	var b strings.Builder
	b.WriteString("Settings of single modes: --mode-set, or training.mode-settings in a job file:\n")
	for _, mode := range pace.Modes() {
		for _, s := range pace.SettingsOf(mode) {
			fmt.Fprintf(&b, "\n  %-*s  %-*s  %s", mostMode, mode, mostName, s.Name, s.Doc)
			fmt.Fprintf(&b, "\n  %*s  (default %v; %v to %v)", mostMode+2+mostName, "", s.Default, s.Min,
				s.Max)
		}
	}
	if ofRanks {
		b.WriteString("\n\nN is the number of ranks.")
	}
	return b.String()
}

package job_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
)

// quorum is a mode of somebody's own whose settings depend on the number of ranks, and
// one of which has the name of another mode's.
type quorum struct{ pace.Hybrid }

func init() {
	pace.Register(pace.Mode{
		Name: "quorum", Overlaps: []string{"none"},
		Settings: []pace.Setting{
			{Name: "wait-for", Default: pace.Ranks(-1), Min: pace.Fixed(1), Max: pace.Ranks(0),
				Doc: "ranks that a step waits for"},
			{Name: "every", Default: pace.Fixed(2), Min: pace.Fixed(1), Max: pace.Fixed(9),
				Doc: "steps between two elections"},
		},
		New: func(s pace.Settings) pace.Rule {
			return quorum{pace.Hybrid{Staleness: s.Staleness, Overlap: pace.HybridNaive}}
		},
	})
}

// settingNames returns the names of all settings in their order, and modesWith the modes that have one, as a
// list in words.
func settingNames() (names []string) {
	for _, mode := range pace.Modes() {
		for _, s := range pace.SettingsOf(mode) {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

func modesWith(name string) string {
	var modes []string
	for _, mode := range pace.Modes() {
		if slices.ContainsFunc(pace.SettingsOf(mode), func(s pace.Setting) bool { return s.Name == name }) {
			modes = append(modes, mode)
		}
	}
	last := len(modes) - 1
	return strings.Join(modes[:last], ", ") + " and " + modes[last]
}

// A setting is of the training's own mode and in its range.
func TestModeSettingsOfTheOwnMode(t *testing.T) {
	for _, c := range []struct {
		mode string
		name string
		v    int
		want string // the error; "" for none
	}{
		{job.SSP, "slack", 0, ""},
		{job.AsyncAverage, "every", 1_000_000_000, ""},
		{job.SSP, "slack", -1, "training.mode-settings: slack = -1; want 0 to 1000000 in mode ssp"},
		{job.AsyncAverage, "every", 0, "training.mode-settings: every = 0; want 1 to 1000000000 in mode " +
			"async-average"},
		{job.Hybrid, "every", 16, "training.mode-settings: every is a setting of " + modesWith("every") +
			", not of hybrid"},
		{"quorum", "wait-for", 4, ""},
		{"quorum", "wait-for", 5, "training.mode-settings: wait-for = 5; want 1 to 4 with ranks = 4 in " +
			"mode quorum"},
		{"quorum", "every", 16, "training.mode-settings: every = 16; want 1 to 9 in mode quorum"},
		{job.Sequential, "slack", 1, "training.mode-settings: slack is a setting of ssp, not of sequential"},
		{job.Hybrid, "slack", -1, "training.mode-settings: slack = -1; want 0 to 1000000 in mode ssp"},
		{job.SSP, "slak", 1, `training.mode-settings: "slak" is unknown; the nearest is "slack"`},
		{job.SSP, "speed-of-light", 1, `training.mode-settings: "speed-of-light" is unknown; known are ` +
			strings.Join(settingNames(), ", ")},
	} {
		training := job.Default()
		training.Training.Mode, training.Training.ModeSettings = c.mode, map[string]int{c.name: c.v}
		if err := training.Validate(); err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s, %s = %d: %v, want %q", c.mode, c.name, c.v, err, c.want)
		}
	}
}

// A training for several modes may have settings of each; in one of them it keeps what
// is that mode's, and the original keeps all.
func TestModeSettingsOfSeveralModes(t *testing.T) {
	training := job.Default()
	training.Training.ModeSettings = map[string]int{"every": 5, "slack": 2}
	if err := training.ValidateShared(); err != nil {
		t.Errorf("shared: %v", err)
	}
	for want, modes := range map[string][]string{
		"": job.Modes(),
		"training.mode-settings: every is a setting of " + modesWith("every") +
			", not of sync or ssp": {job.Sync, job.SSP},
		"training.mode-settings: slack is a setting of ssp, not of hybrid or async-average": {job.Hybrid,
			job.AsyncAverage},
	} {
		if err := training.ValidateModeSettings(modes); err == nil && want != "" || err != nil &&
			err.Error() != want {
			t.Errorf("%v: %v, want %q", modes, err, want)
		}
	}
	for mode, want := range map[string]map[string]int{
		job.Sync: {}, job.Hybrid: {}, job.Sequential: {}, job.AsyncAverage: {"every": 5},
		job.SSP:  {"slack": 2},
		"quorum": {"every": 5},
	} {
		one := training.InMode(mode)
		if !maps.Equal(one.Training.ModeSettings, want) {
			t.Errorf("%s: settings %v, want %v", mode, one.Training.ModeSettings, want)
		}
		if err := one.Validate(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	// What the own mode has is left behind by the others.
	training.Training.Mode = job.SSP
	training.Training.ModeSettings = map[string]int{"slack": 2}
	if err := training.ValidateModeSettings([]string{job.Hybrid}); err != nil {
		t.Errorf("a training of ssp in mode hybrid: %v", err)
	}
	training.Training.Mode, training.Training.ModeSettings["slack"] = job.Hybrid, -1
	if err := training.ValidateShared(); err == nil || !strings.Contains(err.Error(), "in mode ssp") {
		t.Errorf("slack -1 in a training of hybrid: %v", err)
	}
}

// Before the modes of a run are known, a setting of another mode need only suit one that
// has it; then it must suit all that have it.
func TestModeSettingsOfModesWithOneName(t *testing.T) {
	training := job.Default()
	training.Training.ModeSettings = map[string]int{"every": 16}
	if err := training.ValidateShared(); err != nil {
		t.Errorf("shared: %v", err)
	}
	if err := training.ValidateModeSettings([]string{job.AsyncAverage}); err != nil {
		t.Errorf("async-average alone: %v", err)
	}
	const want = "training.mode-settings: every = 16; want 1 to 9 in mode quorum"
	if err := training.ValidateModeSettings([]string{job.AsyncAverage, "quorum"}); err == nil ||
		err.Error() != want {
		t.Errorf("both: %v, want %s", err, want)
	}
	training.Training.Mode = "quorum"
	if err := training.ValidateShared(); err == nil || err.Error() != want {
		t.Errorf("in mode quorum: %v, want %s", err, want)
	}
}

// The values in use follow the number of ranks, and the text of reports has them as declared.
func TestModeValuesFollowRanks(t *testing.T) {
	training := job.Default()
	training.Training.Mode = "quorum"
	for ranks, want := range map[int]string{1: "quorum: wait-for = 1, every = 2",
		4: "quorum: wait-for = 3, every = 2"} {
		training.Roles.Ranks = ranks
		if got := training.ModeSettingsText(); got != want {
			t.Errorf("%d ranks: %s, want %s", ranks, got, want)
		}
	}
	if _, err := pace.New("quorum", pace.Settings{}); err != nil { // no ranks count as one
		t.Error(err)
	}
	if got := job.Default(); got.ModeSettingsText() != "" {
		t.Errorf("hybrid: %s", got.ModeSettingsText())
	}
}

// The rule has the settings of its mode, or their defaults.
func TestRuleHasModeSettings(t *testing.T) {
	training := job.Default()
	training.Training.Mode, training.Training.ModeSettings = job.AsyncAverage,
		map[string]int{"every": 5, "slack": 2}
	for _, want := range []pace.Rule{pace.AsyncAverage{Staleness: 9, Every: 5},
		pace.AsyncAverage{Staleness: 9, Every: 16}} {
		if rule, err := training.Rule(); err != nil || rule != want {
			t.Errorf("rule %+v, %v; want %+v", rule, err, want)
		}
		delete(training.Training.ModeSettings, "every")
	}
}

// A resolved training states the values in use, so that a default that is written out
// and one that is left out are the same job.
func TestModeSettingsAreWrittenWithDefaults(t *testing.T) {
	for _, c := range []struct {
		mode  string
		given map[string]int
		want  map[string]int
	}{
		{job.SSP, nil, map[string]int{"slack": 3}},
		{job.SSP, map[string]int{"slack": 3}, map[string]int{"slack": 3}},
		{job.SSP, map[string]int{"slack": 0, "every": 5}, map[string]int{"slack": 0, "every": 5}},
		{job.Hybrid, nil, map[string]int{}},
	} {
		training := job.Default()
		training.Training.Mode, training.Training.ModeSettings = c.mode, maps.Clone(c.given)
		text, err := yaml.Marshal(training.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		again := job.Default()
		if err := job.Decode(text, "job.yaml", &again); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(again.Training.ModeSettings, c.want) ||
			!maps.Equal(training.Training.ModeSettings, c.given) {
			t.Errorf("%+v: written and read back: %v; afterwards %v", c, again.Training.ModeSettings,
				training.Training.ModeSettings)
		}
	}
}

// What is no whole number, and keys that had other names before, are refused.
func TestDecodeModeSettings(t *testing.T) {
	for text, want := range map[string]string{
		"training: {mode-settings: {every: 1.5}}": `job.yaml:1: training.mode-settings.every: "1.5" where ` +
			`a whole number (int) belongs`,
		"training: {mode-settings: {every: }}": "job.yaml:1: training.mode-settings.every: no value: " +
			"write one, or leave the key out",
		"training: {mode-settings: [every]}": "job.yaml:1: training.mode-settings: a list where keys " +
			"with values belong",
		"training: {mode: ssp,\n  slack: 3}": `job.yaml:2: training: unknown key "slack": slack is ` +
			`now training.mode-settings: {slack: ...}`,
		"training: {average-every: 3}": `job.yaml:1: training: unknown key "average-every": ` +
			`average-every is now training.mode-settings: {every: ...}`,
		"training: {mode-settings: {every: 1e19}}": `job.yaml:1: training.mode-settings.every: "1e19" ` +
			`where a whole number (int) belongs`,
	} {
		training := job.Default()
		if err := job.Decode([]byte(text), "job.yaml", &training); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

// Settings of a command line replace those of the job; some mode of the run must have them.
func TestAddModeSettings(t *testing.T) {
	training := job.Default()
	training.Training.ModeSettings = map[string]int{"every": 5}
	before := training
	modes := []string{job.Sync, job.AsyncAverage, job.SSP}
	if err := training.AddModeSettings([]string{"every=16", "slack=2"}, modes); err != nil {
		t.Error(err)
	}
	if want := map[string]int{"every": 16, "slack": 2}; !maps.Equal(training.Training.ModeSettings, want) ||
		before.Training.ModeSettings["every"] != 5 {
		t.Errorf("%v, before %v", training.Training.ModeSettings, before.Training.ModeSettings)
	}
	for text, want := range map[string]string{
		"every": `"every": want NAME=VALUE with a whole number, as every=16`,
		"=16":   `"=16": want NAME=VALUE`, "": `"": want NAME=VALUE`, "every=": `"every=": want NAME=VALUE`,
		"every=1.5": `"every=1.5": want NAME=VALUE`, "every=1=2": `"every=1=2": want NAME=VALUE`,
		"slack=2": "slack is given twice", "every=0": "every = 0; want 1 to 1000000000 in mode ",
		"evry=1": `"evry" is unknown; the nearest is "every"`,
	} {
		if err := training.AddModeSettings([]string{"slack=1", text}, modes); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	err := training.AddModeSettings([]string{"every=1"}, []string{job.Hybrid})
	if err == nil || err.Error() != "every is a setting of "+modesWith("every")+", not of hybrid" ||
		training.Training.ModeSettings["every"] != 16 {
		t.Errorf("%v, settings %v", err, training.Training.ModeSettings)
	}
}

// The help names every setting of every mode, within 80 columns.
func TestModeSettingsHelp(t *testing.T) {
	text := job.ModeSettingsHelp()
	for _, want := range []string{
		"\n  async-average ", " every ", " steps of a rank between two averages\n",
		" (default 16; 1 to 1000000000)\n",
		"\n  ssp ", " slack ", "(default 3; 0 to 1000000)",
		"(default N - 1; 1 to N)", "\n\nN is the number of ranks.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, mode := range pace.Modes() {
		for _, s := range pace.SettingsOf(mode) {
			if !strings.Contains(text, s.Doc) {
				t.Errorf("%s of %s is missing", s.Name, mode)
			}
		}
	}
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

package report

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/job"
)

// The flag sets the settings of each mode, and the note of the report contains them.
func TestModeSet(t *testing.T) {
	modes := []string{job.Sync, job.AsyncAverage, job.SSP}
	parse := func(args string) *ModeFlags {
		m := &ModeFlags{}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		m.AddFlags(flags)
		if err := flags.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	training := job.Default()
	m := parse("--mode-set every=5 --mode-set slack=0")
	got, err := m.Settle(&training, modes)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[job.AsyncAverage]["every"] != 5 || got[job.SSP]["slack"] != 0 {
		t.Errorf("settings %v", got)
	}
	const note = "Settings that only one mode has: async-average: every = 5; ssp: slack = 0."
	if got := ModeSettingsNote(training, modes); got != note {
		t.Errorf("note %q, want %q", got, note)
	}
	if got := ModeSettingsNote(training, modes[:1]); got != "No mode has settings of its own." {
		t.Errorf("note %q", got)
	}
	const want = "--mode-set: every is a setting of async-average"
	if _, err := m.Settle(&training, modes[:1]); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// One mode is always compared.
func TestModeFlags(t *testing.T) {
	m := NewModeFlags()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	m.AddFlags(flags)
	if err := flags.Parse([]string{"--modes", "ssp,hybrid", "--mode-set", "slack=2"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.With(job.Sync, nil), " "); got != "sync ssp hybrid" {
		t.Errorf("modes %s", got)
	}
	if got := strings.Join(m.With(job.Hybrid, nil), " "); got != "hybrid ssp" {
		t.Errorf("modes %s", got)
	}
}

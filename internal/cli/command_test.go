package cli

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Wrong flags, commands and arguments are usage errors whose hints name the nearest.
func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args          string
		message, hint string
	}{
		{"", "", ""},
		{"run --staleness 2", "", ""},
		{"--stalenes 2", "unknown flag: --stalenes", "did you mean --staleness? see --help"},
		{"--seee 2", "unknown flag: --seee", "did you mean --seed or --seeds? see --help"},
		{"--former-name 2", "", ""},
		{"--former-nam 2", "unknown flag: --former-nam", "see --help"},
		{"--nothing-like-it", "unknown flag: --nothing-like-it", "see --help"},
		{"-x", "unknown shorthand flag: 'x' in -x", "see --help"},
		{"--staleness", "flag needs an argument: --staleness", "see --help"},
		{"runn", `unknown command "runn"`, "did you mean run? see --help"},
		{"different", `unknown command "different"`, "commands are run; see --help"},
		{"run more", `unexpected argument "more"`, "everything is a flag; see --help"},
		{"run --stalenes 2", "unknown flag: --stalenes", "did you mean --staleness? see --help"},
	} {
		root := &cobra.Command{Use: "x", Args: NoArguments,
			RunE: func(*cobra.Command, []string) error { return nil }}
		sub := &cobra.Command{Use: "run", Args: NoArguments, RunE: root.RunE}
		root.AddCommand(sub)
		Configure(root, io.Discard, io.Discard)
		for _, command := range []*cobra.Command{root, sub} {
			for _, name := range []string{"staleness", "seed", "seeds", "former-name"} {
				command.Flags().Int(name, 0, "")
			}
			command.Flags().Lookup("former-name").Hidden = true
		}
		root.SetArgs(strings.Fields(c.args))
		var stderr strings.Builder
		code := PrintError(&stderr, "x", root.Execute())
		want, wantCode := "", 0
		if c.message != "" {
			want, wantCode = "x: error: "+c.message+"\nx: hint: "+c.hint+"\n", 2
		}
		if code != wantCode || stderr.String() != want {
			t.Errorf("%q: exit code %d and %q, want %d and %q", c.args, code, stderr.String(), wantCode, want)
		}
	}
}

// A default that a text names does not follow the text again, for any type of flag.
func TestDefaultInText(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Int("a", 3, "text")
	fs.Uint64("b", 3, "text")
	fs.Float64("c", 3, "text")
	fs.String("d", "3", "text")
	fs.IntSlice("e", []int{3}, "text")
	fs.StringSlice("f", []string{"3"}, "text")
	DefaultInText(fs, "a", "b", "c", "d", "e", "f")
	if text := fs.FlagUsages(); strings.Contains(text, "default") {
		t.Error(text)
	}
}

// Every command has --version and completion scripts, which are for the program by the name of its file, and
// its help says so. Completion is not among the commands that errors list.
func TestVersionAndCompletion(t *testing.T) {
	run := func(args ...string) (string, error) {
		var stdout strings.Builder
		root := &cobra.Command{Use: "x", Args: NoArguments,
			RunE: func(*cobra.Command, []string) error { return nil }}
		root.Flags().String("staleness", "", "be late")
		Configure(root, &stdout, io.Discard)
		root.SetArgs(args)
		err := root.Execute()
		return stdout.String(), err
	}
	text, err := run("--version")
	want := "x: commit " + Commit() + ", go"
	if err != nil || !strings.HasPrefix(text, want) {
		t.Errorf("version %q, error %v; want %q", text, err, want)
	}
	if text, err = run("--help"); err != nil || !strings.Contains(text, "x completion --help") {
		t.Errorf("help without completion: %q, error %v", text, err)
	}
	for _, shell := range shells {
		text, err = run("completion", shell.name)
		if err != nil || !strings.Contains(text, programName()) || !strings.Contains(text, "__complete") {
			t.Errorf("%s: no script for %s: error %v", shell.name, programName(), err)
		}
	}
	text, err = run("__complete", "--st")
	if err != nil || !strings.HasPrefix(text, "--staleness\tbe late\n") {
		t.Errorf("--st is completed to %q, error %v", text, err)
	}
	for args, want := range map[string]string{
		"completion": `completion takes the name of a shell, not ""`, "completion tcsh": `not "tcsh"`,
		"other": `unexpected argument "other"`,
	} {
		if _, err := run(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want %q", args, err, want)
		}
	}
}

// Several commands may be configured at a time, as tests of processes do.
func TestConfigureTogether(t *testing.T) {
	var together sync.WaitGroup
	for range 100 {
		together.Go(func() { Configure(&cobra.Command{Use: "go run ./cmd/tool"}, io.Discard, io.Discard) })
	}
	together.Wait()
}

package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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

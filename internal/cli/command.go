package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Configure sets up a root command and the commands below it: output goes to stdout and
// stderr, errors are returned for [PrintError] to print, and a wrong flag is a [UsageError]
// that suggests the nearest flags.
func Configure(root *cobra.Command, stdout, stderr io.Writer) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
}

// flagError returns the usage error for a flag that pflag refuses.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if near := nearestFlags(c, unknown.GetSpecifiedName()); len(near) > 0 {
			return UsageError("did you mean "+strings.Join(near, " or ")+"? see --help", "%v", err)
		}
	}
	return UsageError("see --help", "%v", err)
}

// nearestFlags returns the flags of a command whose names are like name, by the distance
// that cobra uses to suggest commands.
func nearestFlags(c *cobra.Command, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	near := names.SuggestionsFor(name)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return near
}

// NoArguments is a [cobra.PositionalArgs] that refuses arguments which are not flags. If the
// command has subcommands, the argument is a wrong one, and the hint names the nearest.
func NoArguments(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !c.HasAvailableSubCommands():
		return UsageError("everything is a flag; see --help", "unexpected argument %q", args[0])
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return UsageError("did you mean "+strings.Join(near, " or ")+"? see --help", "unknown command %q",
			args[0])
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return UsageError("commands are "+strings.Join(names, ", ")+"; see --help", "unknown command %q", args[0])
}

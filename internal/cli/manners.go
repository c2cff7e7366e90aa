package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Manners gives a command, and those below it, the manners that all share:
// errors are returned, for Explain to print, and a wrong flag is a Misuse.
func Manners(c *cobra.Command, stdout, stderr io.Writer) {
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(stdout)
	c.SetErr(stderr)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Misuse("see --help", "%v", err) })
	c.CompletionOptions.DisableDefaultCmd = true
}

// NoArguments refuses arguments that are not flags. It is a
// cobra.PositionalArgs.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misuse("everything is a flag; see --help", "unexpected argument %q", args[0])
	}
	return nil
}

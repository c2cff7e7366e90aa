package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// shells are those that cobra writes completion scripts for, with what makes a new shell read the script.
var shells = []struct {
	name, install string
	write         func(root *cobra.Command, w io.Writer) error
}{
	{"bash", "PROGRAM completion bash > ~/.local/share/bash-completion/completions/PROGRAM",
		func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", `PROGRAM completion zsh > "${fpath[1]}/_PROGRAM"`,
		func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", "PROGRAM completion fish > ~/.config/fish/completions/PROGRAM.fish",
		func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", "PROGRAM completion powershell | Out-String | Invoke-Expression",
		func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

// completionCommand returns the command that prints completion scripts. It is hidden, because it is one of
// every program; the usage text of the root names it.
func completionCommand() *cobra.Command {
	var names []string
	long := "Print a script with which a shell completes commands, flags and values.\n\nThe script is for " +
		"the program by the name that it was built as, so build\nit first. A new shell completes after:\n\n"
	for _, shell := range shells {
		names = append(names, shell.name)
		long += "  " + strings.ReplaceAll(shell.install, "PROGRAM", programName()) + "\n"
	}
	choice := strings.Join(names, ", ")
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for " + choice, Hidden: true, Long: long,
		Args: cobra.ArbitraryArgs, ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			for _, shell := range shells {
				if len(args) == 1 && args[0] == shell.name {
					root := c.Root()
					root.Use = programName()
					return shell.write(root, c.OutOrStdout())
				}
			}
			return UsageError("shells are "+choice, "completion takes the name of a shell, not %q",
				strings.Join(args, " "))
		},
	}
}

// programName returns the name of this program's file, by which a user calls it.
func programName() string { return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") }

// Version describes this build in one line: the commit, the module's version if it was installed by one, and
// the version of Go.
func Version() string {
	return fmt.Sprintf("commit %s, %s, %s/%s", Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

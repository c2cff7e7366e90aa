package cli

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Configure sets up a root command and the commands below it: output goes to stdout and
// stderr, errors are returned for [PrintError] to print, a wrong flag is a [FlagError], and
// the flags of the help are wrapped at 80 columns. The root gets the flag --version and a command that
// prints completion scripts. Several roots may be configured at a time.
func Configure(root *cobra.Command, stdout, stderr io.Writer) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(FlagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80") +
		completionHint)
	addBuildVersion()
	root.Version = "of a build"
	root.SetVersionTemplate("{{.Name}}: {{buildVersion}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(completionCommand())
	root.SuggestionsMinimumDistance = 2
}

// addBuildVersion gives templates the version, which is asked only for --version: it runs git. Cobra's table
// of functions has no lock, and several commands may be configured at a time.
var addBuildVersion = sync.OnceFunc(func() { cobra.AddTemplateFunc("buildVersion", Version) })

// completionHint ends the usage text of a root.
const completionHint = `{{if not .HasParent}}
Completion of flags in bash, zsh, fish and powershell: {{.CommandPath}} completion --help
{{end}}`

// FlagError returns the usage error for a flag that pflag refuses. Its hint suggests the
// flags with the nearest names.
func FlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if near := nearestFlags(c, unknown.GetSpecifiedName()); len(near) > 0 {
			return UsageError("did you mean "+strings.Join(near, " or ")+"? see --help", "%v", err)
		}
	}
	text := err.Error()
	if number := new(strconv.NumError); errors.As(err, &number) {
		want := "want a number"
		if errors.Is(err, strconv.ErrRange) {
			want = "it is out of range"
		}
		text = strings.Replace(text, number.Error(), want, 1)
	}
	return UsageError("see --help", "%s", text)
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

// DefaultInText keeps the defaults of flags out of the help, where their texts name them: a
// default that depends on a job file is not a value.
func DefaultInText(fs *pflag.FlagSet, names ...string) {
	zero := map[string]string{"float64": "0", "int": "0", "intSlice": "[]", "stringSlice": "[]",
		"uint64": "0"}
	for _, name := range names {
		f := fs.Lookup(name)
		f.DefValue = zero[f.Value.Type()]
	}
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
	return UsageError("commands are "+strings.Join(Commands(c), ", ")+"; see --help", "unknown command %q",
		args[0])
}

// Commands returns the names of the commands below c that a user may call.
func Commands(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

package report

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/pflag"

	"tandem/internal/cli"
)

// Python is the interpreter of an experiment that compares with programs of others: the one that --python or
// the environment variable TANDEM_PYTHON names, or python3. The zero value has no flag set.
type Python struct{ named string }

// Flag returns the function of an Experiment that adds --python. Usage says what the interpreter must have.
func (p *Python) Flag(usage string) func(*pflag.FlagSet) {
	return func(flags *pflag.FlagSet) { flags.StringVar(&p.named, "python", "", usage) }
}

// Named returns the interpreter that was named, or "".
func (p *Python) Named() string { return cmp.Or(p.named, os.Getenv("TANDEM_PYTHON")) }

// With returns the interpreter if it has the modules of a list such as "numpy, scipy". The error names the
// first that is missing.
func (p *Python) With(ctx context.Context, modules string) (string, error) {
	python := cmp.Or(p.Named(), "python3")
	out, err := exec.CommandContext(ctx, python, "-c", "import "+modules).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", &cli.Error{Err: fmt.Errorf("%s lacks a module: %w %s", python, err, lines[len(lines)-1]),
			Hint: "name an interpreter that has it by --python"}
	}
	return python, nil
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/preset"
)

// side is one of several configurations that a command looks at: a request with flags of its own.
type side struct {
	*request
	name  string            // as A
	own   map[string]string // its own flags
	notes []string
}

// newSide reads a configuration: the name of a cluster or of a file, if any, and flags, as in "dgx-h100
// --gpus 4". The flags of the whole command hold where the configuration has none of its own.
func (p *program) newSide(whole *cobra.Command, kind kind, name string, words []string) (*side, error) {
	f := &flags{kind: kind}
	c := &cobra.Command{Use: "run"}
	f.register(c.Flags())
	(&cobra.Command{Use: "sim"}).AddCommand(c) // the whole name stands in the command that repeats it
	refuse := func(err error) error {
		var known *cli.Error
		if !errors.As(err, &known) {
			known = &cli.Error{Err: err, Hint: "see go run ./cmd/sim run --help", Usage: true}
		}
		return &cli.Error{Err: fmt.Errorf("%s: %w", name, known.Err), Hint: known.Hint, Usage: known.Usage}
	}
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		flag, err := flagOf(words[0])
		if err != nil {
			return nil, refuse(err)
		}
		words = append([]string{"--" + flag, words[0]}, words[1:]...)
	}
	if err := c.ParseFlags(words); err != nil {
		return nil, refuse(flagError(c, err))
	}
	if rest := c.Flags().Args(); len(rest) > 0 {
		return nil, refuse(cli.UsageError("write a configuration as one word of the shell, as "+
			"'dgx-h100 --gpus 4'", "unexpected %q behind the first word", rest[0]))
	}
	for _, flag := range []string{"samples", "json", "report"} {
		if c.Flags().Changed(flag) {
			return nil, refuse(cli.UsageError("write it behind the configurations", "--%s is for all "+
				"configurations together", flag))
		}
	}
	own := map[string]string{}
	c.Flags().Visit(func(f *pflag.Flag) { own[f.Name] = strings.Trim(f.Value.String(), "[]") })
	if err := inherit(c.Flags(), whole.Flags()); err != nil {
		return nil, refuse(err)
	}
	var said bytes.Buffer
	quiet := *p
	quiet.stderr = &said
	q, err := quiet.request(c, f)
	if err != nil {
		return nil, refuse(advise(err))
	}
	s := &side{request: q, name: name, own: own}
	for line := range strings.Lines(said.String()) {
		s.notes = append(s.notes, strings.TrimPrefix(strings.TrimSpace(line), "sim: "))
	}
	return s, nil
}

// flagOf returns the flag that takes the first word of a configuration: a cluster, or a file with a cluster's
// profile or with a job.
func flagOf(word string) (string, error) {
	switch _, alias := clusters()[word]; {
	case alias:
		return "cluster", nil
	case !preset.IsFile(word):
		if !slices.Contains(cost.Clusters.Names(), word) {
			return "", unknown("cluster", word, clusterNames())
		}
		return "preset", nil
	}
	cluster, err := describesCluster(word)
	if cluster {
		return "preset", err
	}
	return "file", err
}

// describesCluster reports whether a file has a cluster and no data: it is a profile, or a job file's section
// alone. The loader of a job finds the faults of other files.
func describesCluster(file string) (bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var keys map[string]any
	if yaml.Unmarshal(text, &keys) != nil || keys["data"] != nil {
		return false, nil
	}
	return keys["accelerators-per-server"] != nil || keys["preset"] != nil || keys["cluster"] != nil, nil
}

// inherit gives flags the values that those of the whole command have, unless they have some of their own. Of
// parameters it adds those without a value.
func inherit(own, whole *pflag.FlagSet) (err error) {
	own.VisitAll(func(f *pflag.Flag) {
		from := whole.Lookup(f.Name)
		switch {
		case err != nil || from == nil || !from.Changed:
		case f.Name == "set":
			given := map[string]bool{}
			for _, setting := range f.Value.(pflag.SliceValue).GetSlice() {
				name, _, _ := strings.Cut(setting, "=")
				given[name] = true
			}
			for _, setting := range from.Value.(pflag.SliceValue).GetSlice() {
				if name, _, _ := strings.Cut(setting, "="); !given[name] && err == nil {
					err = own.Set("set", setting)
				}
			}
		case f.Changed || chooses(f.Name, own):
		default:
			err = own.Set(f.Name, strings.Trim(from.Value.String(), "[]"))
		}
	})
	return err
}

// chooses reports whether flags have one that goes in place of another.
func chooses(name string, own *pflag.FlagSet) bool {
	for _, group := range [][]string{{"preset", "cluster"}, {"batch-per-gpu", "global-batch"}} {
		if slices.Contains(group, name) && slices.ContainsFunc(group, own.Changed) {
			return true
		}
	}
	return false
}

// notesOf returns the notes of sides, each once; one that not all sides have begins with their names.
func notesOf(sides []*side) (all []string) {
	seen := map[string]bool{}
	for _, s := range sides {
		for _, note := range s.notes {
			if seen[note] {
				continue
			}
			seen[note] = true
			var with []string
			for _, other := range sides {
				if slices.Contains(other.notes, note) {
					with = append(with, other.name)
				}
			}
			if len(with) < len(sides) {
				note = strings.Join(with, ", ") + ": " + note
			}
			all = append(all, note)
		}
	}
	return all
}

// Package preset reads named profiles: of devices, systems, models and clusters. A profile is a YAML file.
// Built-in profiles are compiled in; a user's own is named by its path.
package preset

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"tandem/algo/job"
)

// Errors that callers can test for.
var (
	// ErrUnknown is wrapped by the error about a name that no built-in profile has.
	ErrUnknown = errors.New("unknown profile")
	// ErrInvalid is wrapped by every error about the content of a profile.
	ErrInvalid = errors.New("invalid profile")
)

// Library holds the built-in profiles of one kind, one file NAME.yaml each.
type Library struct {
	Kind   string // what a profile describes, for messages: "accelerator"
	Files  fs.FS
	Folder string // of Files
}

// Profile is the content of a file.
type Profile interface{ Validate() error }

// Completer is a Profile that may be a difference from another: Complete, which Load calls before Validate,
// takes what the file lacks from there.
type Completer interface{ Complete() error }

// IsFile reports whether a name is the path of a user's file, as job.IsProfileFile.
func IsFile(name string) bool { return job.IsProfileFile(name) }

// Names returns the names of the built-in profiles, ascending.
func (l *Library) Names() (names []string) {
	entries, err := fs.ReadDir(l.Files, l.Folder)
	if err != nil {
		panic(err) // the folder is compiled in
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Text returns the YAML of a built-in profile, or of a user's file.
func (l *Library) Text(name string) ([]byte, error) {
	if IsFile(name) {
		return job.ReadDocument(name)
	}
	text, err := fs.ReadFile(l.Files, path.Join(l.Folder, name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("%w %s", ErrUnknown, suggestion(name, l.Names()))
	}
	return text, nil
}

// Load reads a built-in profile or a user's file into p, strictly. The error about a name that no built-in
// profile has wraps ErrUnknown and names the nearest; one about content wraps ErrInvalid.
func (l *Library) Load(name string, p Profile) error {
	text, err := l.Text(name)
	if err != nil {
		return err
	}
	file := name
	if !IsFile(name) {
		file = path.Join(l.Folder, name+".yaml")
	}
	if err := job.Decode(text, file, p); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if c, ok := p.(Completer); ok {
		if err := c.Complete(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrInvalid, file, err)
		}
	}
	if err := p.Validate(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, file, err)
	}
	return nil
}

// suggestion quotes an unknown name and adds the nearest known one, or else all of them. Names of profiles
// are long, so a known name with the same first letters is nearer than one without.
func suggestion(name string, known []string) string {
	begins := func(k string, letters int) bool {
		return len(k) >= letters && strings.EqualFold(k[:letters], name[:letters])
	}
	nearest := job.Nearest(name, known)
	for letters := len(name); letters >= sameLettersMin && !begins(nearest, sameLettersMin); letters-- {
		for _, k := range known {
			if begins(k, letters) {
				nearest = k
				break
			}
		}
	}
	if nearest != "" {
		return fmt.Sprintf("%q; the nearest is %q", name, nearest)
	}
	return fmt.Sprintf("%q; known are %s", name, strings.Join(known, ", "))
}

// sameLettersMin is the number of equal first letters that makes two names similar.
const sameLettersMin = 4

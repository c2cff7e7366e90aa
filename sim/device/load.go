package device

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"tandem/algo/job"

	"go.yaml.in/yaml/v3"
)

//go:embed profiles
var profiles embed.FS

// Errors that callers can test for.
var (
	// ErrUnknown is wrapped by the error about a name that no built-in profile has.
	ErrUnknown = errors.New("unknown profile")
	// ErrInvalid is wrapped by every error about the content of a profile.
	ErrInvalid = errors.New("invalid profile")
)

// The folders of the built-in profiles.
const (
	acceleratorFolder = "accelerators"
	hostFolder        = "hosts"
	wireFolder        = "wires"
)

// AcceleratorNames returns the names of the built-in accelerators, ascending.
func AcceleratorNames() []string { return names(acceleratorFolder) }

// HostNames returns the names of the built-in hosts, ascending.
func HostNames() []string { return names(hostFolder) }

// WireNames returns the names of the built-in wires, ascending.
func WireNames() []string { return names(wireFolder) }

// LoadAccelerator returns a built-in accelerator profile.
func LoadAccelerator(name string) (*AcceleratorProfile, error) {
	return load(acceleratorFolder, name, ReadAccelerator)
}

// LoadHost returns a built-in host profile.
func LoadHost(name string) (*HostProfile, error) { return load(hostFolder, name, ReadHost) }

// LoadWire returns a built-in wire profile.
func LoadWire(name string) (*WireProfile, error) { return load(wireFolder, name, ReadWire) }

// ReadAccelerator reads an accelerator profile from YAML. Unknown fields are
// refused, and so is what Validate refuses.
func ReadAccelerator(text []byte) (*AcceleratorProfile, error) {
	p := new(AcceleratorProfile)
	return p, read(text, p)
}

// ReadHost reads a host profile as ReadAccelerator does.
func ReadHost(text []byte) (*HostProfile, error) {
	p := new(HostProfile)
	return p, read(text, p)
}

// ReadWire reads a wire profile as ReadAccelerator does.
func ReadWire(text []byte) (*WireProfile, error) {
	p := new(WireProfile)
	return p, read(text, p)
}

// names lists the profiles in a folder.
func names(folder string) []string {
	entries, err := fs.ReadDir(profiles, "profiles/"+folder)
	if err != nil {
		panic(err) // the folder is compiled in
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return list
}

// load reads a built-in profile. Its file is named for it.
func load[P any](folder, name string, parse func([]byte) (P, error)) (P, error) {
	text, err := profiles.ReadFile("profiles/" + folder + "/" + name + ".yaml")
	if err != nil {
		var none P
		return none, fmt.Errorf("device: %w %s", ErrUnknown, suggestion(name, names(folder)))
	}
	return parse(text)
}

// suggestion quotes an unknown name and adds the nearest known one, or else all of them. Names of profiles are
// long, so a known name with the same first letters counts as near.
func suggestion(name string, known []string) string {
	nearest := job.Nearest(name, known)
	for letters := len(name); nearest == "" && letters >= sameLettersMin; letters-- {
		for _, k := range known {
			if len(k) >= letters && strings.EqualFold(k[:letters], name[:letters]) {
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

// read decodes one YAML document strictly and validates the result.
func read(text []byte, profile interface{ Validate() error }) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(profile); err != nil {
		return fmt.Errorf("device: %w: %w", ErrInvalid, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("device: %w: more than one document, want one", ErrInvalid)
	}
	if err := profile.Validate(); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	return nil
}

package device

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tandem/algo/job"
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
	p := new(AcceleratorProfile)
	return p, load(acceleratorFolder, name, p)
}

// LoadHost returns a built-in host profile.
func LoadHost(name string) (*HostProfile, error) {
	p := new(HostProfile)
	return p, load(hostFolder, name, p)
}

// LoadWire returns a built-in wire profile.
func LoadWire(name string) (*WireProfile, error) {
	p := new(WireProfile)
	return p, load(wireFolder, name, p)
}

// profile is an AcceleratorProfile, a HostProfile or a WireProfile.
type profile interface{ Validate() error }

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

// load reads a built-in profile into p. A profile's file is named after it.
func load(folder, name string, p profile) error {
	text, err := profiles.ReadFile("profiles/" + folder + "/" + name + ".yaml")
	if err != nil {
		return fmt.Errorf("device: %w %s", ErrUnknown, suggestion(name, names(folder)))
	}
	return read(text, folder+"/"+name+".yaml", p)
}

// suggestion quotes an unknown name and adds the nearest known one, or else all of them. Names of profiles
// are long, so a known name with the same first letters counts as near.
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

// read decodes the YAML of a profile strictly and validates the result. The name of the file is for errors.
func read(text []byte, file string, p profile) error {
	if err := job.Decode(text, file, p); err != nil {
		return fmt.Errorf("device: %w: %w", ErrInvalid, err)
	}
	if err := p.Validate(); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	return nil
}

package device

import (
	"embed"
	"slices"
	"strings"

	"tandem/sim/preset"
)

//go:embed profiles
var profiles embed.FS

// The built-in profiles of devices. A name with a slash, or that ends in .yaml, is a user's file.
var (
	Accelerators = &preset.Library{Kind: "accelerator", Files: profiles, Folder: "profiles/accelerators"}
	Hosts        = &preset.Library{Kind: "host", Files: profiles, Folder: "profiles/hosts"}
	Wires        = &preset.Library{Kind: "wire", Files: profiles, Folder: "profiles/wires"}
)

// LoadAccelerator returns the accelerator profile of a name.
func LoadAccelerator(name string) (*AcceleratorProfile, error) {
	p := new(AcceleratorProfile)
	return p, Accelerators.Load(name, p)
}

// AcceleratorOf returns the name of the built-in profile of a GPU by the name that its driver reports, or "".
func AcceleratorOf(name string) string {
	for _, maker := range []string{"NVIDIA ", "Tesla "} {
		name = strings.TrimPrefix(name, maker)
	}
	switch name {
	case "H100 80GB HBM3":
		return "H100-SXM5"
	case "H200":
		return "H200-SXM"
	}
	if slices.Contains(Accelerators.Names(), name) {
		return name
	}
	return ""
}

// LoadHost returns the host profile of a name.
func LoadHost(name string) (*HostProfile, error) {
	p := new(HostProfile)
	return p, Hosts.Load(name, p)
}

// LoadWire returns the wire profile of a name.
func LoadWire(name string) (*WireProfile, error) {
	p := new(WireProfile)
	return p, Wires.Load(name, p)
}

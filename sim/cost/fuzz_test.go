package cost_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/preset"
	"tandem/sim/system"
)

// FuzzProfiles reads any text as a user's profile of each kind: it is an error about the content that names
// the file, or a profile.
func FuzzProfiles(f *testing.F) {
	libraries := []*preset.Library{device.Accelerators, device.Hosts, device.Wires, system.Systems,
		model.Models}
	for kind, library := range libraries {
		for _, name := range library.Names()[:2] {
			text, err := library.Text(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(kind), text)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, text []byte) {
		name := filepath.Join(t.TempDir(), "own.yaml")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		load := []func(string) error{
			func(name string) error { _, err := device.LoadAccelerator(name); return err },
			func(name string) error { _, err := device.LoadHost(name); return err },
			func(name string) error { _, err := device.LoadWire(name); return err },
			func(name string) error { _, err := system.Load(name); return err },
			func(name string) error { _, err := model.Load(name); return err },
		}[int(kind)%len(libraries)]
		err := load(name)
		if err != nil && (!errors.Is(err, preset.ErrInvalid) && !errors.Is(err, preset.ErrUnknown) ||
			!strings.Contains(err.Error(), "own.yaml")) {
			t.Errorf("error %v", err)
		}
	})
}

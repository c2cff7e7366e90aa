package device

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/preset"
)

func TestEveryBuiltInProfileLoads(t *testing.T) {
	for _, name := range Accelerators.Names() {
		p, err := LoadAccelerator(name)
		if err != nil {
			t.Error(err)
		} else if p.Name != name {
			t.Errorf("file %s holds profile %s", name, p.Name)
		}
	}
	for _, name := range Hosts.Names() {
		p, err := LoadHost(name)
		if err != nil {
			t.Error(err)
		} else if p.Name != name {
			t.Errorf("file %s holds profile %s", name, p.Name)
		}
	}
	for _, name := range Wires.Names() {
		p, err := LoadWire(name)
		if err != nil {
			t.Error(err)
		} else if p.Name != name {
			t.Errorf("file %s holds profile %s", name, p.Name)
		}
	}
}

// The values are the data sheet's and the paper's, not read from the files.
func TestResolvedProfiles(t *testing.T) {
	v100, err := LoadAccelerator("V100-SXM2-32GB")
	if err != nil {
		t.Fatal(err)
	}
	a := v100.Resolve(0)
	peak := [precisions]unit.FLOPsPerSec{15.7e12, 15.7e12, 125e12}
	if a.Peak != peak || a.Bandwidth != 900e9 || a.Memory != 32e9 {
		t.Errorf("V100 resolves to peaks %v, %v, %d", a.Peak, a.Bandwidth, a.Memory)
	}
	slow := v100.Resolve(-1)
	if a.Launch != 2*unit.Microsecond || slow.Launch != 4*unit.Microsecond || slow.Bandwidth > a.Bandwidth {
		t.Errorf("launch = %d ns, at its worse end %d ns, want 2000 and 4000", a.Launch, slow.Launch)
	}
	xeon, err := LoadHost("xeon-52-core-480gb")
	if err != nil {
		t.Fatal(err)
	}
	if h := xeon.Resolve(0); h.Cores != 52 || h.Memory != 480e9 || h.Network != 12.5e9 {
		t.Errorf("Persia's host resolves to %d cores, %d bytes, %v B/s", h.Cores, h.Memory,
			float64(h.Network))
	}
	pcie, err := LoadWire("pcie3-x16")
	if err != nil {
		t.Fatal(err)
	}
	if w := pcie.Resolve(0); !near(float64(w.Bandwidth), 15.75e9*0.86) || w.Latency != 5700 {
		t.Errorf("PCIe 3.0 x16 resolves to %v", w)
	}
	h200, err := LoadAccelerator("H200-SXM")
	if err != nil {
		t.Fatal(err)
	}
	a = h200.Resolve(0)
	if a.Peak != [precisions]unit.FLOPsPerSec{67e12, 494.5e12, 989e12} || a.Bandwidth != 4.8e12 ||
		a.Memory != 141e9 || a.Units != 132 || a.Cache != 50e6 {
		t.Errorf("H200 resolves to %+v", a)
	}
	dgx, err := LoadHost("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	if h := dgx.Resolve(0); h.Network != 400e9 || h.NetworkCards != 8 || h.Sockets != 2 || h.Virtual ||
		h.SSD != 30.72e12 || h.Memory != 2e12 {
		t.Errorf("DGX H100 resolves to %+v", h)
	}
	gcp, err := LoadHost("m2-ultramem-416")
	if err != nil {
		t.Fatal(err)
	}
	if h := gcp.Resolve(-1); h.NetworkCards != 1 || h.Sockets != 8 || !h.Virtual || h.SSD != 0 ||
		h.HugePageShare != 0 || h.RemoteLatency != 300 || h.MemoryLatency != 100 {
		t.Errorf("Google Cloud's memory host resolves to %+v at its worst", h)
	}
}

// A curve without points stands for hardware that always reaches its peak.
func TestCurveWithoutPointsIsWhole(t *testing.T) {
	if got := (Curve{}).At(123); got != 1 {
		t.Errorf("share %v, want 1", got)
	}
}

// What quantities of a host say together is checked too.
func TestHostsWithContradictionsAreRefused(t *testing.T) {
	none := quantity.Value[float64]{}
	for want, change := range map[string]func(p *HostProfile){
		"huge-page-share: high = 2; want at": func(p *HostProfile) { p.HugePageShare.High = 2 },
		"no huge-page-share":                 func(p *HostProfile) { p.HugePageShare = none },
		"2 sockets without remote":           func(p *HostProfile) { p.RemoteLatency.Kind = "" },
		"raise it":                           func(p *HostProfile) { p.CacheLatency.Mid = 1000 },
		"remote-memory-latency = 50ns below": func(p *HostProfile) { p.RemoteLatency.Mid = 50 },
		"give both or none":                  func(p *HostProfile) { p.FrontNetworkCards.Kind = "" },
		"give all or none":                   func(p *HostProfile) { p.SSDBandwidth.Kind = "" },
	} {
		p, err := LoadHost("dgx-h100")
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		err = errors.Join(p.Validate(), p.validateParts())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestUnknownProfileSuggestsANearOne(t *testing.T) {
	for name, want := range map[string]string{
		"cray-1":        `"cray-1"; known are a2-highgpu-8g, c2-standard-30, `,
		"c2-standard-3": `"c2-standard-3"; the nearest is "c2-standard-30"`,
		"Xeon-64-core":  `"Xeon-64-core"; the nearest is "xeon-52-core-480gb"`,
	} {
		_, err := LoadHost(name)
		if !errors.Is(err, preset.ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ErrUnknown with %s", err, want)
		}
	}
}

// readFile reads the text of a user's profile.
func readFile(t *testing.T, library *preset.Library, text string, p preset.Profile) error {
	t.Helper()
	name := filepath.Join(t.TempDir(), library.Kind+".yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return library.Load(name, p)
}

func TestFaultyProfilesAreRefused(t *testing.T) {
	const good = `
name: test
bandwidth: {mid: 10Gbps, kind: default, source: standard, date: 2018}
share: {low: 0.7, mid: 0.8, high: 0.9, kind: guessed, source: habit, date: 2018-03}
latency: {mid: 2us, kind: measured, source: probe, date: 2018-03-04}
`
	if err := readFile(t, Wires, good, new(WireProfile)); err != nil {
		t.Fatalf("the good profile is refused: %v", err)
	}
	tests := []struct{ name, old, new, want string }{
		{"unknown key", "share:", "sharing:", `wire.yaml:4: unknown key "sharing": did you mean "share"?`},
		{"no unit", "10Gbps", "10", "no unit"},
		{"wrong unit", "10Gbps", "10GB", "unknown unit"},
		{"unknown kind", "kind: default", "kind: sure", `kind = "sure"`},
		{"no source", "source: standard", "source: ''", "no source"},
		{"bad date", "2018-03-04", "March 2018", `date = "March 2018"`},
		{"guess without range", "low: 0.7, mid: 0.8, high: 0.9", "mid: 0.8", "guessed as exactly"},
		{"low above mid", "low: 0.7", "low: 0.85", "low ≤ mid"},
		{"share above 1", "high: 0.9", "high: 1.5", "at most 1"},
		{"no latency", "latency: {mid: 2us, kind: measured, source: probe, date: 2018-03-04}", "", "latency"},
		{"zero", "mid: 2us", "mid: 0us", "low = 0; want more"},
		{"negative", "mid: 2us", "mid: -2us", "0 ≤ low"},
		{"no name", "name: test", "", "no name"},
		{"two documents", "name: test", "name: test\n---\nname: test", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(good, test.old, test.new, 1)
			if text == good {
				t.Fatalf("%q is not in the good profile", test.old)
			}
			err := readFile(t, Wires, text, new(WireProfile))
			if !errors.Is(err, preset.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want ErrInvalid with %q", err, test.want)
			}
		})
	}
}

func TestKeyWithUnderscoresSuggestsTheKeyWithHyphens(t *testing.T) {
	err := readFile(t, Hosts, "name: test\nmemory_bandwidth: {mid: 1GB/s}\n", new(HostProfile))
	if want := `did you mean "memory-bandwidth"?`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

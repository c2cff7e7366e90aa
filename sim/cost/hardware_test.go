package cost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/sim/device"
	"tandem/sim/preset"
)

// changed writes a built-in profile, with one line changed, to a user's file, and returns its path.
func changed(t *testing.T, library *preset.Library, name, line, to string) string {
	t.Helper()
	text, err := library.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), line+"\n") {
		t.Fatalf("%s has no line %q", name, line)
	}
	file := filepath.Join(t.TempDir(), name+".yaml")
	own := strings.Replace(string(text), line+"\n", to+"\n", 1)
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The error about a profile names the user's file that refers to it, and no file if a flag does.
func TestErrorNamesTheFileThatRefersToAProfile(t *testing.T) {
	accelerator := func(line, to string) string {
		return changed(t, device.Accelerators, "H100-SXM5", line, to)
	}
	cluster := func(line, to string) string { return changed(t, Clusters, "dgx-h100", line, to) }
	for _, c := range []struct {
		preset, accelerator, inside string
		want                        string // FILE is that of the accelerator, or else of the cluster
	}{
		{"dgx-h100", accelerator("inside: nvlink4", "inside: ./lost.yaml"), "",
			"cluster.inside: FILE refers to ./lost.yaml: open ./lost.yaml: no such file"},
		{"dgx-h100", accelerator("inside: nvlink4", "inside: nvlink44"), "",
			`cluster.inside: FILE refers to nvlink44: unknown profile "nvlink44"; the nearest is "nvlink4"`},
		{"dgx-h100", accelerator("host-link: pcie5-x16", "host-link: ./lost.yaml"), "",
			"cluster.host-link: FILE refers to ./lost.yaml: open"},
		{cluster("inside: nvlink4", "inside: ./lost.yaml"), "", "",
			"cluster.inside: FILE refers to ./lost.yaml: open"},
		{cluster("accelerator: H100-SXM5", "accelerator: ./lost.yaml"), "", "",
			"cluster.accelerator: FILE refers to ./lost.yaml: open"},
		{cluster("server: dgx-h100", "server: dgx-h101"), "", "",
			`cluster.server: FILE refers to dgx-h101: unknown profile "dgx-h101"; the nearest`},
		{cluster("system: hugectr", "system: hugetcr"), "", "",
			`cluster.system: FILE refers to hugetcr: unknown profile "hugetcr"; the nearest`},
		{"dgx-h100", "", "./lost.yaml", "cluster.inside: open ./lost.yaml"},
		{cluster("inside: nvlink4", "inside: nvlink3"), "", "./lost.yaml",
			"cluster.inside: open ./lost.yaml"},
		{"dgx-h100", "./lost.yaml", "", "cluster.accelerator: open ./lost.yaml"},
	} {
		section, err := job.LoadCluster(c.preset)
		if err != nil {
			t.Fatal(err)
		}
		file := c.preset
		if c.accelerator != "" {
			section.SetAccelerator(c.accelerator)
			file = c.accelerator
		}
		if c.inside != "" {
			section.Inside = c.inside
		}
		_, _, err = Load(&section, "")
		want := strings.Replace(c.want, "FILE", file, 1)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that names a preset says what differs from it, whether it is a profile or the section of a job file.
func TestAClusterFileIsADifferenceFromItsPreset(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	preset, err := LoadCluster("persia-paper")
	if err != nil {
		t.Fatal(err)
	}
	flat := write("flat.yaml", "preset: persia-paper\naccelerator: T4\nembedding-ps: {count: 3}")
	for _, file := range []string{flat, write("above.yaml", "preset: flat.yaml"),
		write("section.yaml", "cluster: {accelerator: T4, embedding-ps: {count: 3}}"),
		write("job.yaml", "data: {kind: adult-income}\ncluster: {preset: flat.yaml}")} {
		c, err := LoadCluster(file)
		if err != nil {
			t.Fatal(err)
		}
		ps := c.EmbeddingPSs
		if c.Preset != file || c.Accelerator != "T4" || c.Inside != "" || ps.Count != 3 ||
			ps.Profile != preset.EmbeddingPSs.Profile || c.System != preset.System {
			t.Errorf("%s: %+v", file, c)
		}
		// The range of the preset's guess is not that of another number.
		if low, high := c.EmbeddingPSs.CountRange(); low != 3 || high != 3 {
			t.Errorf("%s: %d to %d PS hosts", file, low, high)
		}
	}
	for text, want := range map[string]string{
		"preset: own.yaml":   "own.yaml: preset: ",
		"preset: ./own.yaml": "is its own preset",
		"preset: dgx-h10": `own.yaml: preset: no cluster is called "dgx-h10"; ` +
			`the nearest is "dgx-h100"`,
		"cluster: {preset: dgx-h10}": `own.yaml: ` +
			`cluster.preset: no cluster is called "dgx-h10"`,
		"cluster: {preset: dgx-h100, acelerator: T4}":      `did you mean "accelerator"?`,
		"preset: dgx-h100\naccelerators-per-server: -1":    "own.yaml: accelerators-per-server = -1; want 1",
		"cluster: {preset: dgx-h100, embedding-ps: {x: 1}": "own.yaml",
	} {
		_, err := LoadCluster(write("own.yaml", text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A job file that is written back elsewhere names the same files; paths that TANDEM_DATA finds stay as they
// were.
func TestLocated(t *testing.T) {
	folder := t.TempDir()
	cluster := strings.ReplaceAll(mustText(t, PersiaCluster()), "preset: persia-paper\n", "")
	for name, text := range map[string]string{
		"cluster.yaml": cluster,
		"steps.txt":    "delay\n4\n",
		"job.yaml": `data: {kind: libfm, train: a.libfm, test: /b.libfm}
training: {mode: sequential, delay: trace steps.txt}
cluster: {preset: cluster.yaml, server: mine/server.yaml}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "job.yaml")
	j, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tandemData := range []string{"", "/data"} {
		located, err := j.Located(file, tandemData)
		if err != nil {
			t.Fatal(err)
		}
		train := filepath.Join(folder, "a.libfm")
		if tandemData != "" {
			train = "a.libfm"
		}
		if located.RelativeData() != (tandemData != "") {
			t.Errorf("TANDEM_DATA %q: the data are relative: %v", tandemData, located.RelativeData())
		}
		if err := os.WriteFile("written.yaml", []byte(mustText(t, located.Resolved())), 0o644); err != nil {
			t.Fatal(err)
		}
		back, err := Load("written.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if back.Data.Train != train || back.Data.Test != "/b.libfm" ||
			back.Training.Delay.File != filepath.Join(folder, "steps.txt") ||
			back.Cluster.Preset != filepath.Join(folder, "cluster.yaml") ||
			back.Cluster.Server != filepath.Join(here, "mine", "server.yaml") {
			t.Errorf("TANDEM_DATA %q: %+v, delay %v, preset %v, server %v", tandemData, back.Data,
				back.Training.Delay, back.Cluster.Preset, back.Cluster.Server)
		}
	}
}

func mustText(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/runtime/identity"
	"tandem/runtime/process"
)

// A training in processes makes certificates without being asked: the host has one, and so has every
// process. The key of the authority is nowhere.
func TestProcessesHaveCertificates(t *testing.T) {
	files := t.TempDir()
	p := &program{stdout: io.Discard, stderr: io.Discard}
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte("data: {kind: synthetic, synthetic: {train-rows: 100, "+
		"test-rows: 10, columns: [{name: id, cardinality: 5}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := job.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	options, err := p.processOptions("node", files, t.TempDir(), j, flags{checkpoints: new(checkpoints)})
	if err != nil {
		t.Fatal(err)
	}
	if options.Identity == nil {
		t.Error("the host has no certificate")
	}
	processes, err := options.Job.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, roles := range processes {
		command := options.Command(process.Start{Process: roles})
		at := slices.Index(command, "--tls")
		if at < 0 {
			t.Fatalf("%v has no certificate: %q", roles, command)
		}
		if _, err := identity.Open(command[at+1], roles, nil); err != nil {
			t.Errorf("%v: %v", roles, err)
		}
	}
	keys := 0
	if err := filepath.WalkDir(files, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case d.Name() == "ca.key":
			t.Errorf("the key of the authority is in %s", path)
		case d.Name() == "tls.key":
			keys++
		}
		return err
	}); err != nil || keys < 2 {
		t.Errorf("%d keys, %v", keys, err)
	}
	info, err := os.Stat(filepath.Join(files, "nn-worker", "tls.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
)

// The table of the default cluster has at most 80 columns, and its last lines name three questions, whose
// commands are possible.
func TestTheTableOfTheDefaultCluster(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--samples", "1"}, &stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	checkColumns(t, "sim", stdout.String())
	for _, row := range []string{"sync               1 ", "hybrid            32 ", "async-average     32 "} {
		if !strings.Contains(stdout.String(), "\n"+row) {
			t.Errorf("no row %q", row)
		}
	}
	_, last, found := strings.Cut(stdout.String(), "\nNext:\n")
	lines := strings.Split(strings.TrimSpace(last), "\n")
	if !found || len(lines) != 6 {
		t.Fatalf("the last lines are %q", last)
	}
	for i := 1; i < len(lines); i += 2 {
		args, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "go run ./cmd/sim ")
		args += " --samples 2"
		if strings.HasPrefix(args, "plan") {
			args += " --most-gpus 8 --most-hosts 1"
		}
		var out, said bytes.Buffer
		if code := run(strings.Fields(args), &out, &said); code != 0 || !ok {
			t.Errorf("%s: exit %d: %s", lines[i], code, said.String())
		}
	}
}

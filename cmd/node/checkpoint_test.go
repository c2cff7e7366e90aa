package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tandem/internal/cli/clitest"
	"tandem/runtime/checkpoint"
)

// drainedJob is a job that is disturbed while it trains. Its ranks are slow, and it is long: what a test has
// waited for may be reported 100 ms later, when a fast machine has trained hundreds of steps more.
const drainedJob = `
data:
  kind: synthetic
  synthetic: {train-rows: 12000, test-rows: 50, columns: [{name: id, cardinality: 500, zipf: 1.1}]}
model: {kind: feed-forward, embedding-dim: 8, top: [32]}
training: {mode: sync, global-batch: 20, evaluate-every: 2 steps}
roles: {ranks: 2, embedding-workers: 1, embedding-ps: 2}
slow: [{role: nn-worker, factor: 5}]
`

// node is a process of this test.
type node struct {
	*exec.Cmd
	stdout, stderr clitest.Buffer
}

// startNode starts the program.
func startNode(t *testing.T, args ...string) *node {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Cmd: exec.Command(program)}
	n.Args = append([]string{"node"}, args...) // which TestMain runs
	n.Stdout, n.Stderr = &n.stdout, &n.stderr
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Process.Kill() }) // of a test that has failed
	return n
}

// startCluster starts a host with further arguments, and its roles.
func startCluster(t *testing.T, file string, further ...string) map[string]*node {
	t.Helper()
	address := freeAddress(t)
	return startClusterAt(t, address, address, file, further...)
}

// startClusterAt is startCluster with the address of the host, and those at which roles look for one.
func startClusterAt(t *testing.T, address, known, file string, further ...string) map[string]*node {
	t.Helper()
	all := map[string]*node{"host": startNode(t, append([]string{"host", "--file", file, "--listen", address,
		"--metrics-address", "127.0.0.1:0"}, further...)...)}
	for _, role := range []string{"data-loader 0", "embedding-worker 0", "embedding-ps 0", "embedding-ps 1",
		"nn-worker 0", "nn-worker 1"} {
		name, index, _ := strings.Cut(role, " ")
		all[role] = startNode(t, name, "--index", index, "--file", file, "--host", known, "--host-return",
			hostReturn(further))
	}
	return all
}

// hostReturn returns how long roles wait for a host with further arguments to be started again: only that of
// a run with checkpoints is.
func hostReturn(further []string) string {
	if len(further) > 0 {
		return "20s"
	}
	return "0s"
}

// awaitSteps waits until a host has trained more than a number of steps, and trains.
func awaitSteps(t *testing.T, host *node, more int) {
	t.Helper()
	address := regexp.MustCompile(`metrics are at (\S+)`)
	done := regexp.MustCompile(`tandem_training_steps_done{.*} (\d+)`)
	deadline := time.Now().Add(awaitTimeout)
	for ; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found := address.FindStringSubmatch(host.stderr.String())
		if found == nil {
			continue
		}
		response, err := http.Get(found[1])
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(response.Body) // without the number it is read again
		response.Body.Close()
		if steps := done.FindSubmatch(text); steps != nil {
			if n, _ := strconv.Atoi(string(steps[1])); n > more {
				return
			}
		}
	}
	t.Fatalf("the host has trained no steps:\n%s", host.stderr.String())
}

// awaitTimeout is how long a test waits for what comes within a second or two unless the machine has other
// work.
const awaitTimeout = time.Minute

// awaitModel waits until a model is complete.
func awaitModel(t *testing.T, folder string) {
	t.Helper()
	for deadline := time.Now().Add(awaitTimeout); time.Now().Before(deadline); {
		if _, err := os.Stat(folder); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("there is no model in " + folder)
}

// digests waits for all processes and returns the digests that the host has printed.
func digests(t *testing.T, all map[string]*node) (dense, rows string) {
	t.Helper()
	for name, n := range all {
		if err := n.Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, n.stderr.String())
		}
	}
	var result summary
	if err := json.Unmarshal([]byte(all["host"].stdout.String()), &result); err != nil {
		t.Fatal(err)
	}
	return result.DenseDigest, result.RowsDigest
}

// A host that waits for processes ends when it is asked to, without a model.
func TestHostIsInterruptedWhileItWaits(t *testing.T) {
	folder := t.TempDir()
	host := startNode(t, "host", "--listen", "127.0.0.1:0", "--checkpoints", filepath.Join(folder, "saved"))
	deadline := time.Now().Add(awaitTimeout)
	for !strings.Contains(host.stderr.String(), "waiting for ") && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the host waits on")
	}
	if text := host.stderr.String(); !strings.Contains(text, "interrupted before the first step") {
		t.Errorf("the host said\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(folder, "saved", "0")); err == nil {
		t.Error("a model was saved")
	}
}

// A cluster of which one process, or the host, is asked to end by a signal saves its model. Started again
// with the same commands, it continues, and ends with the bits of a cluster that was not interrupted.
func TestInterruptedClusterContinues(t *testing.T) {
	folder := t.TempDir()
	file, saved := filepath.Join(folder, "job.yaml"), filepath.Join(folder, "saved")
	if err := os.WriteFile(file, []byte(drainedJob), 0o644); err != nil {
		t.Fatal(err)
	}
	dense, rows := digests(t, startCluster(t, file))
	for i, c := range []struct {
		role   string
		signal os.Signal
	}{{"embedding-ps 1", syscall.SIGTERM}, {"host", os.Interrupt}} {
		all := startCluster(t, file, "--checkpoints", saved)
		awaitSteps(t, all["host"], 5)
		if err := all[c.role].Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		for name, n := range all {
			if err := n.Wait(); err == nil {
				t.Errorf("%s has ended with success", name)
			}
		}
		text := all["host"].stderr.String()
		if !strings.Contains(text, "node: error: interrupted after ") ||
			!strings.Contains(text, "node: hint: start the host and every process again") ||
			(i > 0) != strings.Contains(text, "node: training continues after the ") {
			t.Errorf("%s was interrupted; the host said\n%s", c.role, text)
		}
	}
	if gotDense, gotRows := digests(t, startCluster(t, file, "--checkpoints", saved)); gotDense != dense ||
		gotRows != rows {
		t.Errorf("network %s, rows %s; without interruption %s, %s", gotDense, gotRows, dense, rows)
	}
	again := startNode(t, "host", "--file", file, "--checkpoints", saved)
	if err := again.Wait(); err == nil ||
		!strings.Contains(again.stderr.String(), "the model has trained all 600 steps of the job") {
		t.Errorf("%v: %s", err, again.stderr.String())
	}
	late := startNode(t, "host", "--file", file, "--checkpoints", saved, "--standby")
	if err := late.Wait(); err != nil || !strings.Contains(late.stderr.String(), "nothing to take over") {
		t.Errorf("%v: a standby host after the end said\n%s", err, late.stderr.String())
	}
}

// A cluster that saves its model on the way outlives each of its processes: one with a role and then the host
// are started again with the same command, and a standby host takes over from that one. The newest checkpoint
// is damaged when the first host is lost. The cluster ends with the bits of one that lost none.
func TestClusterOutlivesItsProcesses(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, []byte(drainedJob), 0o644); err != nil {
		t.Fatal(err)
	}
	dense, rows := digests(t, startCluster(t, file))
	saved := filepath.Join(folder, "saved")
	addresses := [2]string{freeAddress(t), freeAddress(t)}
	all := startClusterAt(t, addresses[0], addresses[0]+","+addresses[1], file, "--checkpoints", saved,
		"--checkpoint-every", "110 steps")
	kill := func(name string) {
		if err := all[name].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = all[name].Wait() // it was killed
	}
	awaitModel(t, filepath.Join(saved, "110"))
	awaitSteps(t, all["host"], 115) // all have joined again: a death while they do is no loss
	kill("nn-worker 1")
	before := all["host"]
	refused := startNode(t, append(before.Args[1:], "--listen", addresses[1])...)
	if err := refused.Wait(); err == nil || !strings.Contains(refused.stderr.String(),
		"node: error: --checkpoints: another host has "+saved+"\n") {
		t.Errorf("%v: a second host said\n%s", err, refused.stderr.String())
	}
	all["nn-worker 1"] = startNode(t, all["nn-worker 1"].Args[1:]...)
	awaitModel(t, filepath.Join(saved, "220"))
	awaitSteps(t, before, 225)
	kill("host")
	damaged := filepath.Join(saved, "220", checkpoint.RowsFile(1, 2))
	if err := os.WriteFile(damaged, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := startNode(t, before.Args[1:]...)
	for deadline := time.Now().Add(awaitTimeout); !strings.Contains(second.stderr.String(),
		"node: training continues"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the second host does not continue: " + second.stderr.String())
		}
	}
	standby := startNode(t, append(before.Args[1:], "--listen", addresses[1], "--standby")...)
	all["host"] = second
	awaitModel(t, filepath.Join(saved, "220"))
	awaitSteps(t, second, 225)
	kill("host")
	all["host"] = standby
	if gotDense, gotRows := digests(t, all); gotDense != dense || gotRows != rows {
		t.Errorf("network %s, rows %s; without losses %s, %s", gotDense, gotRows, dense, rows)
	}
	if _, err := os.Stat(filepath.Join(saved, "220.damaged")); err != nil {
		t.Error(err)
	}
	for what, said := range map[string][2]string{
		"the first host":  {before.stderr.String(), "; training goes back to the checkpoint of step "},
		"the second host": {second.stderr.String(), "/110 instead\nnode: training continues after the 110 "},
		"the standby host": {standby.stderr.String(),
			" is free: taking over\nnode: training continues after the "},
		"a PS": {all["embedding-ps 0"].stderr.String(),
			" is gone: its connection broke; waiting for"},
	} {
		if !strings.Contains(said[0], said[1]) {
			t.Errorf("%s said\n%s", what, said[0])
		}
	}
}

// freeAddress returns an address at which nothing listens. Its port is below those that systems give to
// connections: one of these could take it meanwhile, even one to the address itself.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		return listener.Addr().String()
	}
}

// Processes that shall not wait for their host end when it dies, and say so.
func TestProcessesNeedNotWaitForTheirHost(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, []byte(drainedJob), 0o644); err != nil {
		t.Fatal(err)
	}
	all := startCluster(t, file)
	awaitSteps(t, all["host"], 5)
	if err := all["host"].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, n := range all {
		err, text := n.Wait(), n.stderr.String()
		if name != "host" && (err == nil || !strings.Contains(text, "node: error: ") ||
			!strings.Contains(text, " is gone: its connection broke")) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// A cluster whose folder of checkpoints is lost continues from the copies in an object store, and ends with
// the bits of one that lost nothing. Copies of another job are refused.
func TestClusterContinuesFromCopies(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("models"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"} {
		t.Setenv(name, value)
	}
	url := "s3://models/run?region=eu-west-1&use_path_style=true&endpoint=" + server.URL
	folder := t.TempDir()
	file, saved := filepath.Join(folder, "job.yaml"), filepath.Join(folder, "saved")
	if err := os.WriteFile(file, []byte(drainedJob), 0o644); err != nil {
		t.Fatal(err)
	}
	dense, rows := digests(t, startCluster(t, file))
	all := startCluster(t, file, "--checkpoints", saved, "--checkpoint-copies", url)
	awaitSteps(t, all["host"], 5)
	if err := all["host"].Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for name, n := range all {
		if err := n.Wait(); err == nil {
			t.Errorf("%s has ended with success", name)
		}
	}
	if err := os.RemoveAll(saved); err != nil {
		t.Fatal(err)
	}
	all = startCluster(t, file, "--checkpoints", saved, "--checkpoint-copies", url)
	if gotDense, gotRows := digests(t, all); gotDense != dense || gotRows != rows {
		t.Errorf("network %s, rows %s; without the loss %s, %s", gotDense, gotRows, dense, rows)
	}
	if text := all["host"].stderr.String(); !strings.Contains(text, "node: fetching the checkpoint after ") ||
		!strings.Contains(text, "node: training continues after the ") {
		t.Errorf("the host said\n%s", text)
	}
	other := filepath.Join(folder, "other.yaml")
	if err := os.WriteFile(other, []byte(strings.Replace(drainedJob, "top: [32]", "top: [16]", 1)),
		0o644); err != nil {
		t.Fatal(err)
	}
	refused := startNode(t, "host", "--file", other, "--checkpoints", filepath.Join(folder, "new"),
		"--checkpoint-copies", url)
	if err := refused.Wait(); err == nil || !strings.Contains(refused.stderr.String(),
		"node: error: --checkpoint-copies: this job is not that of the copies in s3://models/run") {
		t.Errorf("%v: %s", err, refused.stderr.String())
	}
}

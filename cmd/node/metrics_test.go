package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/internal/cli/clitest"
)

const watchedJob = `
data:
  kind: synthetic
  synthetic: {train-rows: 60000, test-rows: 100, columns: [{name: id, cardinality: 500, zipf: 1.1}]}
model: {kind: feed-forward, embedding-dim: 8, top: [32]}
training: {mode: hybrid, global-batch: 64, evaluate-every: 50 steps}
roles: {ranks: 1, embedding-workers: 1, embedding-ps: 1}
`

// Host and every role serve their metrics while they run, each at its own address.
func TestMetricsOfRoles(t *testing.T) {
	job := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(job, []byte(watchedJob), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	_ = listener.Close() // the port is free for the host
	roles := map[string]string{
		"host":             "tandem_training_samples_done{mode=\"hybrid\",seed=\"1\"} ",
		"data-loader":      `tandem_events_total{role="data-loader",index="0",kind="batch-read"} `,
		"embedding-worker": `tandem_rows_routed_total{role="embedding-worker",index="0"} `,
		"embedding-ps":     `tandem_events_total{role="embedding-ps",index="0",kind="put-applied"} `,
		"nn-worker":        `tandem_stage_seconds_count{role="nn-worker",index="0",stage="PEG"} `,
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	served, codes := map[string]string{}, map[string]int{}
	for role := range roles {
		args := []string{role, "--file", job, "--metrics-address", "127.0.0.1:0"}
		if role == "host" {
			args = append(args, "--listen", host)
		} else {
			args = append(args, "--host", host)
		}
		ended := make(chan struct{})
		var stderr clitest.Buffer
		wait.Go(func() {
			defer close(ended)
			code := run(args, io.Discard, &stderr)
			mu.Lock()
			defer mu.Unlock()
			codes[role] = code
		})
		wait.Go(func() {
			text := scrape(ended, &stderr)
			mu.Lock()
			defer mu.Unlock()
			served[role] = text
		})
	}
	wait.Wait()
	for role, want := range roles {
		if codes[role] != 0 || !strings.Contains(served[role], want) {
			t.Errorf("%s: exit code %d, served no %q but\n%s", role, codes[role], want, served[role])
		}
	}
}

// scrape returns the longest answer of a process until its end.
func scrape(ended chan struct{}, stderr *clitest.Buffer) (longest string) {
	address := regexp.MustCompile(`metrics are at (http://\S+)`)
	for {
		select {
		case <-ended:
			return longest
		case <-time.After(10 * time.Millisecond):
		}
		match := address.FindStringSubmatch(stderr.String())
		if match == nil {
			continue
		}
		answer, err := http.Get(match[1])
		if err != nil {
			continue // it has ended
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err == nil && len(text) > len(longest) {
			longest = string(text)
		}
	}
}

// A port in use is one clear line.
func TestMetricsPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, role := range []string{"host", "embedding-ps"} {
		var stderr bytes.Buffer
		args := []string{role, "--metrics-address", listener.Addr().String()}
		want := "node: error: --metrics-address: cannot listen on " + listener.Addr().String() +
			": address already in use\nnode: hint: "
		if code := run(args, io.Discard, &stderr); code != 1 || !strings.HasPrefix(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", role, code, stderr.String())
		}
	}
}

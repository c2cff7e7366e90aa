package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tandem/internal/cli/clitest"
)

// While trainings run, their metrics are served at the address that a line names.
func TestMetricsOfATraining(t *testing.T) {
	var stderr clitest.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"--mode", "sync,hybrid", "--evaluate-every", "50 steps",
			"--without", "prediction", "--out", filepath.Join(t.TempDir(), "out"),
			"--metrics-address", "127.0.0.1:0"}, io.Discard, &stderr)
	}()
	address := regexp.MustCompile(`metrics are at (http://\S+)`)
	wanted := map[string]bool{
		`tandem_trainings 3`: false, `tandem_training_steps{mode="sync",seed="1"} 255`: false,
		`tandem_evaluation_auc{mode="hybrid",seed="1"} 0.`: false,
		`tandem_training_loss_nats{mode="sync"`:            false, `tandem_trainings_done 1`: false,
		`tandem_row_memory_bytes `: false, `program="train"`: false,
	}
	for {
		select {
		case code := <-ended:
			for want, found := range wanted {
				if !found {
					t.Errorf("%s was never served", want)
				}
			}
			if code != 0 {
				t.Errorf("exit code %d: %s", code, stderr.String())
			}
			return
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
		if err != nil {
			continue
		}
		for want := range wanted {
			wanted[want] = wanted[want] || strings.Contains(string(text), want)
		}
	}
}

// A port in use is one clear line, before anything is trained or written.
func TestMetricsPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	out := filepath.Join(t.TempDir(), "out")
	var stderr bytes.Buffer
	code := run([]string{"--without", "baseline,prediction", "--out", out, "--metrics-address",
		listener.Addr().String()}, io.Discard, &stderr)
	want := "train: error: --metrics-address: cannot listen on " + listener.Addr().String() +
		": address already in use\ntrain: hint: name another port, or port 0 for any free one\n"
	if entries, _ := filepath.Glob(filepath.Dir(out) + "/*"); code != 1 || stderr.String() != want ||
		len(entries) != 0 {
		t.Errorf("exit code %d, %q, files %q; want 1, %q, none", code, stderr.String(), entries, want)
	}
}

package process

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/member"
	"tandem/runtime/train"
)

// The error of a run names a role that panics and the first line of its panic. The stack is printed.
func TestPanicReachesTheUser(t *testing.T) {
	s := endless(job.Hybrid)
	server := msg.Address{Role: msg.EmbeddingPS, Index: 1}
	var shown bytes.Buffer
	s.Panic, s.stderr = server.String(), &shown
	_, err := s.run(t.Context(), train.Options{}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "embedding-ps 1 at 127.0.0.1:") ||
		!strings.Contains(err.Error(), " has died: panic: too many inputs") {
		t.Error(err)
	}
	if !strings.Contains(shown.String(), "embedding-ps 1 has ended with a panic:\npanic: too many inputs") ||
		!strings.Contains(shown.String(), "fixture_test.go") {
		t.Errorf("the stack is not shown: %s", shown.String())
	}
}

// Two runs of one job on one host never mix: a process of another run is refused, and the reason names both
// runs.
func TestRunsDoNotMix(t *testing.T) {
	joined := make(chan error, 1)
	s := setting{Training: small(job.Sync), Steps: 5}
	_, err := s.run(t.Context(), train.Options{}, func(c *Cluster) {
		c.options.Gathering = func(host string, run [16]byte, missing []job.Process) {
			if len(missing) != 4 {
				return
			}
			other := bytes.Repeat([]byte{7}, len(run))
			go func() {
				m, err := member.Join(context.Background(), host, member.Hello{
					Process: job.Process{{Role: msg.EmbeddingWorker}}, Address: "127.0.0.1:1",
					Job: []byte("role"), Run: other,
				}, time.Second)
				if err == nil {
					_, err = m.Welcome()
					err = m.Leave(err)
				}
				joined <- err
			}()
		}
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-joined; err == nil ||
		!strings.HasPrefix(err.Error(),
			"embedding-worker 0 belongs to run 07070707070707070707070707070707, the host serves run ") {
		t.Error(err)
	}
}

// Connections to the host that are not from a process of the run do not disturb the run.
func TestGarbageDoesNotDisturb(t *testing.T) {
	var c *Cluster
	s := setting{Training: small(job.Sync), Steps: 20}
	_, err := s.run(t.Context(), train.Options{Progress: func(int, int) {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write(bytes.Repeat([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff"), 1000))
		conn.Close()
	}}, func(made *Cluster) { c = made })
	if err != nil {
		t.Error(err)
	}
}

// The coordinator of backup-workers has state that no other role has. Its death ends the run at once, with a
// message that says so. The death of the coordinator of ssp is survived.
func TestCoordinatorThatDecidesCannotComeBack(t *testing.T) {
	victim := msg.Address{Role: msg.Coordinator}
	s := setting{Training: small("backup-workers"), Steps: 5000}
	s.Training.Wire.Retry = 100 * unit.Millisecond
	k := newKiller(t, 1, 30, victim)
	start := time.Now()
	_, err := s.run(t.Context(), train.Options{Progress: k.progress},
		func(made *Cluster) { k.cluster = made })
	if err == nil || !strings.HasPrefix(err.Error(), "coordinator 0 at 127.0.0.1:") ||
		!strings.Contains(err.Error(), "has died") {
		t.Error(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("the run ends after %v", took)
	}
}

//go:build unix

package process

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// A process that pauses for less than the hang limit loses nothing, and one that pauses for longer hangs.
func TestPauseAndHang(t *testing.T) {
	const limit = time.Second
	for name, victim := range map[string]msg.Address{
		"PS": {Role: msg.EmbeddingPS}, "rank": {Role: msg.NNWorker, Index: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paused := make(chan *child, 1)
			var c *Cluster
			once := func(int, int) {
				select {
				case paused <- c.running(job.Process{victim}):
				default:
				}
			}
			ended := make(chan error, 1)
			go func() {
				_, err := endless(job.Hybrid).run(t.Context(), train.Options{Progress: once},
					func(made *Cluster) {
						made.options.Hang, c = limit, made
					})
				ended <- err
			}()
			p := (<-paused).cmd.Process
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			time.Sleep(limit / 2)
			if err := p.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(2 * limit):
			}
			start := time.Now()
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			err := <-ended
			if err == nil || !strings.HasPrefix(err.Error(), victim.String()) ||
				!strings.HasSuffix(err.Error(), " hangs: it has not answered for 1s") {
				t.Error(err)
			}
			// Noticed within 1.5 limits; then the process has leaveTimeout to leave.
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("after %v", took)
			}
		})
	}
}

// A restartable role that hangs is killed and comes back.
func TestHangingRoleComesBack(t *testing.T) {
	worker := msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	var logged log
	s := setting{Training: small(job.Sync), Steps: 100, stderr: &logged}
	s.Training.Wire.Retry = 100 * unit.Millisecond
	var c *Cluster
	stopped := false
	got, err := s.run(t.Context(), train.Options{Progress: func(int, int) {
		if !stopped {
			stopped = true
			if err := c.running(job.Process{worker}).cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
		}
	}}, func(made *Cluster) { made.options.Hang, c = time.Second, made })
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
	if !strings.Contains(logged.String(),
		"hangs: it has not answered for 1s; it may come back as incarnation 1") {
		t.Error(logged.String())
	}
}

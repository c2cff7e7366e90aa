//go:build unix

package process

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// hangLimit is longer than a busy machine leaves a process without the time to answer.
const hangLimit = 3 * time.Second

// A process that pauses for less than the hang limit loses nothing, and one that pauses for longer hangs.
func TestPauseAndHang(t *testing.T) {
	if testing.Short() {
		t.Skip("waits; TestHangingRoleComesBack has a process that hangs")
	}
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
				slow := endless(job.Hybrid) // messages wait, so that the processors have little to do
				slow.Training.Faults = fault.Plan{Delay: fault.Delay{Rate: 1, Max: 300 * unit.Millisecond}}
				_, err := slow.run(t.Context(), train.Options{Progress: once},
					func(made *Cluster) {
						made.options.Hang, c = hangLimit, made
					})
				ended <- err
			}()
			var p *os.Process
			select {
			case victim := <-paused:
				p = victim.cmd.Process
			case err := <-ended:
				t.Fatal(err)
			}
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			time.Sleep(hangLimit / 2)
			if err := p.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(2 * hangLimit): // more than the 1.5 after which a hang is noticed
			}
			start := time.Now()
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			err := <-ended
			if err == nil || !strings.HasPrefix(err.Error(), victim.String()) ||
				!strings.HasSuffix(err.Error(), " hangs: it has not answered for 3s") {
				t.Error(err)
			}
			// Noticed within 1.5 limits; then the process has leaveTimeout to leave.
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("after %v", took)
			}
		})
	}
}

// A restartable role that hangs is killed and comes back.
func TestHangingRoleComesBack(t *testing.T) {
	t.Parallel()
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
	}}, func(made *Cluster) { made.options.Hang, c = hangLimit, made })
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
	if !strings.Contains(logged.String(),
		"hangs: it has not answered for 3s; it may come back as incarnation 1") {
		t.Error(logged.String())
	}
}

// A training that saves its model outlives a process that hangs: the others begin again without it, and it is
// killed and replaced. In sync mode the bits are those of a training that nothing disturbs.
func TestTrainingOutlivesAHang(t *testing.T) {
	t.Parallel()
	victims := []msg.Address{{Role: msg.EmbeddingPS, Index: 1}}
	if *long {
		victims = append(victims, msg.Address{Role: msg.NNWorker}, msg.Address{Role: msg.NNWorker, Index: 3})
	}
	for _, victim := range victims {
		t.Run(victim.String(), func(t *testing.T) {
			s, o := setting{Training: small(job.Sync), Steps: 300}, saving(t.TempDir(), job.Sync, 100)
			var c *Cluster
			var stopped *child
			o.Progress = func(done, _ int) {
				if p := c.running(job.Process{victim}); done >= 130 && stopped == nil {
					if stopped = p; p.cmd.Process.Signal(syscall.SIGSTOP) != nil {
						t.Error("the process has ended")
					}
				}
			}
			got, err := s.run(t.Context(), o,
				func(made *Cluster) { made.options.Hang, c = hangLimit, made })
			if err != nil {
				t.Fatal(err)
			}
			s.mustEqualSequential(t, got)
			if len(got.Recoveries) != 1 || got.Recoveries[0].Step != 100 ||
				!strings.HasSuffix(got.Recoveries[0].Lost.Error(), " hangs: it has not answered for 3s") {
				t.Errorf("recoveries %+v", got.Recoveries)
			}
			if !stopped.hasEnded() {
				t.Error("the process that hangs was not killed")
			}
		})
	}
}

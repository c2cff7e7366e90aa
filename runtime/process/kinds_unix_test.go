//go:build unix

package process

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// A training outlives a process with any role that hangs, and one that loses its connection to the host, in
// every mode. No sample is lost or counted twice: in sync mode the bits are those of a training that nothing
// disturbs, and in others each batch is read on each PS once, but for reads that were asked for twice.
func TestTrainingOutlivesHangsAndCutConnections(t *testing.T) {
	if !*long {
		t.Skip("needs -long; TestTrainingOutlivesAHang has one mode and one role")
	}
	for _, mode := range []string{job.Sync, job.Hybrid, job.AsyncPS, job.SSP, job.AsyncAverage, "local-sgd",
		"gba", "backup-workers"} {
		j := small(mode)
		all, err := j.Processes()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p[0].Index > 0 {
				continue // as the first of its kind
			}
			for _, kind := range []string{"hang", "cut"} {
				for seed := range uint64(20) {
					t.Run(fmt.Sprint(mode, " ", p[0].Role, " ", kind, " seed ", seed), func(t *testing.T) {
						t.Parallel()
						at := 105 + rand.New(rand.NewPCG(seed, 9)).IntN(180)
						outlives(t, small(mode), p[0], kind, at)
					})
				}
			}
		}
	}
}

// A rank that hangs or is cut off comes back with the parameters of another, and none begins again.
func TestHangingRanksComeBack(t *testing.T) {
	t.Parallel()
	modes, kinds, ranks := []string{job.Sync}, []string{"hang"}, []int32{0}
	if *long {
		modes, kinds, ranks = []string{job.Sync, job.Hybrid}, []string{"hang", "cut"}, []int32{0, 2}
	} else if testing.Short() {
		t.Skip("takes the time of a hang")
	}
	for _, mode := range modes {
		for _, kind := range kinds {
			for _, rank := range ranks {
				t.Run(fmt.Sprint(mode, " ", rank, " ", kind), func(t *testing.T) {
					j := small(mode)
					j.Roles.RankRecovery = true
					if n := outlives(t, j, msg.Address{Role: msg.NNWorker, Index: rank}, kind, 130); n > 0 {
						t.Errorf("all began again %d times", n)
					}
				})
			}
		}
	}
}

// outlives checks that a training of 300 steps, saved every 100, outlives what happens to a role after a
// number of steps. It returns how often all began again.
func outlives(t *testing.T, j job.Job, victim msg.Address, kind string, at int) int {
	var logged log
	mode := j.Training.Mode
	s, o := setting{Training: j, Steps: 300, stderr: &logged}, saving(t.TempDir(), mode, 100)
	s.Training.Wire.Retry = 100 * unit.Millisecond
	var c *Cluster
	p := proxy{t: t}
	var struck, again time.Time
	last := 0
	o.Progress = func(done, _ int) {
		switch {
		case done >= at && struck.IsZero():
			struck = time.Now()
			if kind == "cut" {
				p.cut()
			} else if err := c.running(job.Process{victim}).cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			last = done
		case !struck.IsZero() && again.IsZero() && done > 100 && time.Since(struck) > time.Second:
			again = time.Now()
		}
	}
	got, err := s.run(t.Context(), o, func(made *Cluster) {
		c = made
		c.options.Hang = hangLimit
		before := c.options.Command
		c.options.Command = func(s Start) []string {
			if kind == "cut" && s.Process.Has(victim) {
				s.Host = p.to(s.Host)
			}
			return before(s)
		}
	})
	if err != nil {
		t.Fatal(err, logged.String())
	}
	if again.IsZero() {
		again = time.Now() // the run has ended within a second
	}
	repeated := 0
	for _, r := range got.Recoveries {
		repeated += r.Again
		if r.Step%100 != 0 { // 0 if the disk was slow to write that of step 100
			t.Errorf("recovery %+v", r)
		}
	}
	if mode == job.Sync {
		s.mustEqualSequential(t, got)
	}
	n := int(got.Staleness.Own.Count())
	if mode != "backup-workers" && (n < 8*s.Steps || n > 8*(s.Steps+25)) {
		t.Errorf("%d reads, want about %d", n, 8*s.Steps)
	}
	t.Logf("%s | %v | %s | struck at step %d: all began again %d times, %d steps repeated, "+
		"next step after %.1f s", mode, victim.Role, kind, last, len(got.Recoveries), repeated,
		again.Sub(struck).Seconds())
	return len(got.Recoveries)
}

// proxy passes on connections to the host, until it cuts them.
type proxy struct {
	t       *testing.T
	mu      sync.Mutex
	passing []net.Conn
}

// to returns the address at which the proxy passes on connections to a host.
func (p *proxy) to(host string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", host)
			if err != nil {
				_ = from.Close()
				continue
			}
			p.mu.Lock()
			p.passing = append(p.passing, from, to)
			p.mu.Unlock()
			pass := func(dst, src net.Conn) {
				_, _ = io.Copy(dst, src) // it ends when one of them is closed
				_, _ = dst.Close(), src.Close()
			}
			go pass(from, to)
			go pass(to, from)
		}
	}()
	return listener.Addr().String()
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.passing {
		_ = c.Close() // it may be closed
	}
	p.passing = nil
}

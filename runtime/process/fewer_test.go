package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// A run goes on with the largest number of ranks that suits its mode, and with all PSs and embedding workers
// that are left. Roles are numbered again, by the order of the processes that have them.
func TestFewerProcesses(t *testing.T) {
	for _, c := range []struct {
		mode, placement, lost string
		want                  string // the roles of each seat, or the error
	}{
		{job.Sync, "apart", "nn-worker 1", "2 ranks: embedding-ps 0 is 0, embedding-ps 1 is 1, " +
			"nn-worker 0 is 0, nn-worker 2 is 1"},
		{job.Hybrid, "apart", "nn-worker 1", "3 ranks: embedding-ps 0 is 0, embedding-ps 1 is 1, " +
			"nn-worker 0 is 0, nn-worker 2 is 1, nn-worker 3 is 2"},
		{job.Hybrid, "apart", "embedding-ps 0", "4 ranks: embedding-ps 1 is 0, " +
			"nn-worker 0 is 0, nn-worker 1 is 1, nn-worker 2 is 2, nn-worker 3 is 3"},
		{job.Sync, "workers", "the process of embedding-worker 0 and nn-worker 0",
			"2 ranks: embedding-ps 0 is 0, embedding-ps 1 is 1, nn-worker 1 is 0, nn-worker 2 is 1"},
		{"backup-workers", "apart", "nn-worker 3", "3 ranks: embedding-ps 0 is 0, embedding-ps 1 is 1, " +
			"nn-worker 0 is 0, nn-worker 1 is 1, nn-worker 2 is 2"},
		{job.Sync, "apart", "data-loader 0", "fewer processes than mode sync needs: none with the role " +
			"data-loader is left"},
		{job.SSP, "apart", "coordinator 0", "fewer processes than mode ssp needs: none with the role " +
			"coordinator is left"},
		{job.AsyncPS, "apart", "dense-ps 0", "fewer processes than mode async-ps needs: none with the role " +
			"dense-ps is left"},
		{job.Sync, "together", "the process of data-loader 0, embedding-worker 0 and 7 other roles",
			"fewer processes than mode sync needs: none with the role "},
	} {
		j := small(c.mode)
		var err error
		if j.Roles.Placement, err = job.ParsePlacement(c.placement); err != nil {
			t.Fatal(err)
		}
		whole, err := wholeCast(&j)
		if err != nil {
			t.Fatal(err)
		}
		var there []job.Process
		for _, seat := range whole.seats {
			if seat.String() != c.lost {
				there = append(there, seat)
			}
		}
		if len(there) != len(whole.seats)-1 {
			t.Fatalf("%s is none of %v", c.lost, whole.seats)
		}
		got, err := fewer(j, whole.seats, there)
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s in %s without %s: %v; want %s", c.placement, c.mode, c.lost, err, c.want)
			}
			continue
		}
		if text := describe(got); text != c.want {
			t.Errorf("%s in %s without %s: %s; want %s", c.placement, c.mode, c.lost, text, c.want)
		}
	}
}

// describe lists the ranks and the embedding PSs of a cast, with their seats.
func describe(c *cast) string {
	var all []string
	for _, kind := range []msg.Role{msg.EmbeddingPS, msg.NNWorker} {
		for i, roles := range c.processes {
			k := 0
			for _, at := range c.seats[i] {
				if at.Role == kind && roles.Has(msg.Address{Role: kind, Index: roles[len(roles)-1].Index}) {
					all = append(all, fmt.Sprintf("%v is %d", at, roles[len(roles)-1].Index))
					k++
				}
			}
		}
	}
	return fmt.Sprintf("%d ranks: %s", c.roles.Ranks, strings.Join(all, ", "))
}

// lostMachine keeps some processes from being started again.
type lostMachine struct {
	mu   sync.Mutex
	gone map[string]bool // by seat
}

// commands makes a cluster start no process of a machine that is lost.
func (l *lostMachine) commands(c *Cluster) {
	before := c.options.Command
	c.options.Command = func(s Start) []string {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.gone[s.Process.String()] {
			return []string{os.Args[0], "play", "role", s.Host, "none"}
		}
		return before(s)
	}
}

// lose kills processes, which are not started again.
func (l *lostMachine) lose(t *testing.T, c *Cluster, victims ...msg.Address) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = map[string]bool{}
	for _, at := range victims {
		l.gone[at.String()] = true
		if err := c.running(job.Process{at}).cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
}

// A training goes on without processes that do not come back: here half of the ranks, an embedding worker and
// a PS, each the first of its kind. In sync mode the bits are those of a training that loses none.
func TestTrainingGoesOnWithFewerProcesses(t *testing.T) {
	t.Parallel()
	modes := []string{job.Sync}
	if *long {
		modes = append(modes, job.Hybrid, job.AsyncPS, job.SSP, job.AsyncAverage, "local-sgd", "gba",
			"backup-workers")
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			var logged log
			s := setting{Training: small(mode), Steps: 300, stderr: &logged}
			folder := t.TempDir()
			o := saving(folder, mode, 100)
			s.Training.Training.EvaluateEvery = job.Every{Steps: 50}
			var c *Cluster
			var machine lostMachine
			o.Progress = func(done, _ int) {
				// The model of step 100 is complete before that of step 200 is begun.
				_, missing := os.Stat(checkpoint.StepFolder(folder, 100))
				if done >= 130 && missing == nil && machine.gone == nil {
					machine.lose(t, c, msg.Address{Role: msg.NNWorker}, msg.Address{Role: msg.EmbeddingPS},
						msg.Address{Role: msg.EmbeddingWorker})
				}
			}
			got, err := s.run(t.Context(), o, func(made *Cluster) {
				c = made
				c.options.Fewer, c.options.Deaths = true, 1
				machine.commands(c)
			})
			if err != nil {
				t.Fatal(err, logged.String())
			}
			if mode == job.Sync {
				s.mustEqualSequential(t, got)
			}
			ranks := 3
			if mode == job.Sync {
				ranks = 2 // 3 do not divide the groups of a batch
			}
			want := fmt.Sprintf("the run goes on without embedding-worker 0 and embedding-ps 0 and "+
				"nn-worker 0: with %d of 4 NN workers, 1 of 2 embedding workers, 1 of 2 embedding PSs", ranks)
			if !strings.Contains(logged.String(), want) {
				t.Errorf("want %s\n%s", want, logged.String())
			}
			for _, r := range got.Recoveries {
				if r.Step != 100 && r.Step != 200 {
					t.Errorf("recovery %+v", r)
				}
			}
		})
	}
}

// A process that comes back while the run goes on without it waits, and has its role again after the next
// checkpoint. Other processes change their roles there and give up the rows that they hold, so the bits are
// those of a training that loses none.
func TestLateProcessIsTakenInAgain(t *testing.T) {
	t.Parallel()
	var logged log
	folder := t.TempDir()
	s, o := endless(job.Sync), saving(folder, job.Sync, 50)
	s.stderr = &logged
	var c *Cluster
	var machine lostMachine
	drain := make(chan struct{})
	o.Drain = drain
	stage, idle := 0, job.Process{{Role: msg.NNWorker, Index: 3}}
	var waits *child
	o.Progress = func(done, _ int) {
		text := logged.String()
		switch {
		case stage == 0 && done > 60:
			machine.lose(t, c, msg.Address{Role: msg.NNWorker, Index: 1})
			stage++
		case stage == 1 && strings.Contains(text, "2 of 4 NN workers; nn-worker 3 without work"):
			machine.mu.Lock()
			machine.gone = nil
			machine.mu.Unlock()
			waits = c.running(idle)
			stage++
		case stage == 2 && strings.Contains(text, "all processes are there again"):
			stage++
			if c.running(idle) != waits {
				t.Error("a process that waits for a role was replaced")
			}
			close(drain)
		}
	}
	o.Lost = func(r train.Recovery) {
		if stage > 1 {
			t.Errorf("taking a process in again has cost steps: %v", r)
		}
	}
	_, err := s.run(t.Context(), o, func(made *Cluster) {
		c = made
		c.options.Fewer, c.options.Deaths = true, 1
		machine.commands(c)
	})
	drained := (*train.DrainedError)(nil)
	if !errors.As(err, &drained) {
		t.Fatal(err, logged.String())
	}
	rest := setting{Training: s.Training, Steps: drained.Step + 10}
	rest.mustEqualSequential(t, rest.resumed(t, checkpoint.StepFolder(folder, drained.Step), drained.Step))
}

// A run ends when no process is left that can have one of its roles, and says which.
func TestTooFewProcessesEndTheRun(t *testing.T) {
	t.Parallel()
	s, o := endless(job.Hybrid), saving(t.TempDir(), job.Hybrid, 15_000)
	s.Training.Roles.EmbeddingPSs = 1
	var c *Cluster
	var machine lostMachine
	o.Progress = func(int, int) {
		if machine.gone == nil {
			machine.lose(t, c, msg.Address{Role: msg.EmbeddingPS})
		}
	}
	_, err := s.run(t.Context(), o, func(made *Cluster) {
		c = made
		c.options.Fewer, c.options.Deaths = true, 1
		machine.commands(c)
	})
	const want = "embedding-ps 0 has not come back; fewer processes than mode hybrid needs: none with the " +
		"role embedding-ps is left"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

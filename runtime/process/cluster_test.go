package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"

	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/runtime/train"
)

// Sync training in separate processes equals sequential training bit for bit, and so do the evaluations
// during training, whichever way messages take.
func TestSyncInProcessesEqualsSequential(t *testing.T) {
	for _, way := range []string{job.SharedMemory, job.TCP} {
		t.Run(way, func(t *testing.T) { syncEqualsSequential(t, way) })
	}
}

func syncEqualsSequential(t *testing.T, way string) {
	s := setting{Training: small(job.Sync), Steps: 20}
	s.Training.Training.EvaluateEvery = job.Every{Steps: 5}
	s.Training.Wire.Local = way
	if way == job.TCP { // here slots differ in dimension and class
		s.Training.Data.Slots = maxima()
	}
	rings := 0
	got, err := s.run(t.Context(), train.Options{Progress: func(int, int) {
		rings = max(rings, ringsOfChildren(t))
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if (rings > 0) != (way == job.SharedMemory) && runtime.GOOS == "linux" {
		t.Errorf("%d rings are mapped", rings)
	}
	want := s.mustEqualSequential(t, got)
	if diff := cmp.Diff(want.Curve, got.Curve,
		cmpopts.IgnoreFields(evaluation.Point{}, "Seconds")); diff != "" || len(got.Curve) != 4 {
		t.Errorf("curve, sequential's (−): %s", diff)
	}
}

// ringsOfChildren returns how many ends of rings the processes that this one has started have mapped.
func ringsOfChildren(t *testing.T) (rings int) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		status, err := os.ReadFile(filepath.Join(folder, "status")) // an error: it has ended
		if err != nil || !strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			continue
		}
		if maps, err := os.ReadFile(filepath.Join(folder, "maps")); err == nil {
			rings += strings.Count(string(maps), "tandem-ring")
		}
	}
	return rings
}

// If rows stay zeros, nothing can be stale: the network of hybrid training on three ranks in separate
// processes equals that of sequential training bit for bit.
func TestNetworkOfThreeRanksInProcessesIsSequential(t *testing.T) {
	s := setting{Training: small(job.Hybrid), Steps: 12}
	s.Training.Roles.Ranks, s.Training.Training.Groups, s.Training.Rows.Admission = 3, 16, 1e-300
	got, err := s.run(t.Context(), train.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := newRows(s.Steps)
	want, err := train.Run(t.Context(), s.Training.InMode(job.Sequential), rows, rows.all, train.Options{})
	if err != nil || got.DenseDigest != want.DenseDigest {
		t.Errorf("network %x, sequential's %x, %v", got.DenseDigest, want.DenseDigest, err)
	}
}

// Every mode trains every step in separate processes and keeps its bounds.
func TestEveryModeInProcesses(t *testing.T) {
	for i, mode := range pace.Modes() {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			s := setting{Training: small(mode), Steps: 12}
			s.Training.Training.EvaluateEvery = job.Every{Steps: 6}
			last, losses, samples := 0, 0.0, 0
			o := train.Options{Progress: func(done, _ int) { last = done }}
			o.Backend.Trained = func(sum float64, n int) { losses, samples = losses+sum, samples+n }
			got, err := s.run(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			rule, err := s.Training.Rule()
			if err != nil {
				t.Fatal(err)
			}
			// A batch may have no id on a PS, but each has one on some.
			bounds, reads, points := rule.Bounds(4), uint64(4*s.Steps), 2
			if quorum := rule.Dense().Quorum; quorum > 0 { // any rank, 0 too, may pass over steps
				reads, points = uint64(int(quorum)*s.Steps), 1
			}
			if own := got.Staleness.Own; last != s.Steps || own.Count() < reads || own.Max() > bounds.Own ||
				got.Staleness.Cross.Max() > bounds.Cross {
				t.Errorf("%d steps; own %+v, cross %+v; promised %+v", last, own.Summary(),
					got.Staleness.Cross.Summary(), bounds)
			}
			if mean := losses / float64(samples); !(mean > 0.3 && mean < 3) || samples > s.Steps*batchSize/4 {
				t.Errorf("a mean loss of %g of %d samples; want that of the quarter of rank 0", mean, samples)
			}
			if len(got.Curve) < points || points == 2 && got.Curve[0].Step != 6 {
				t.Errorf("curve %+v, want points after 6 and 12 steps", got.Curve)
			}
			if got.Processes != len(mustRoles(t, &s.Training)) || got.DenseDigest == 0 ||
				got.RowsDigest == 0 || got.Rows == 0 || got.MissedUpdates.Count() == 0 {
				t.Errorf("nothing is reported: %+v", got)
			}
		})
	}
}

// mustRoles returns the roles of a training.
func mustRoles(t *testing.T, training *job.Job) []role.Role {
	p, err := exec.New(*training, newRows(1), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := training.RoleConfig(p.Model().Layout(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return role.New(cfg)
}

// endless has more steps than a test waits for.
func endless(mode string) setting { return setting{Training: small(mode), Steps: 20_000} }

// If an NN worker is killed, every other process stops within 5 s, and the error names the NN worker.
func TestDeathOfNNWorker(t *testing.T) {
	var c *Cluster
	victim := msg.Address{Role: msg.NNWorker, Index: 2}
	var killed time.Time
	_, err := endless(job.Hybrid).run(t.Context(), train.Options{Progress: func(int, int) {
		for _, p := range c.processes {
			if p.roles[0] == victim && killed.IsZero() {
				killed = time.Now()
				if err := p.cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		}
	}}, func(made *Cluster) { c = made })
	if took := time.Since(killed); err == nil ||
		!strings.Contains(err.Error(), "nn-worker 2 at 127.0.0.1:") ||
		!strings.Contains(err.Error(), "has died") || took > 5*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	mustHaveLeft(t, c, 1, victim)
}

// mustHaveLeft checks that every process has left by itself.
func mustHaveLeft(t *testing.T, c *Cluster, status int, but ...msg.Address) {
	t.Helper()
	if len(c.processes) != 1+2+2+4 {
		t.Errorf("%d processes, want 9", len(c.processes))
	}
	for _, p := range c.processes {
		if got := p.cmd.ProcessState.ExitCode(); got != status && (len(but) == 0 || p.roles[0] != but[0]) {
			t.Errorf("%v has left with status %d, want %d", p.roles, got, status)
		}
	}
}

func TestInterruptStopsEveryProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var c *Cluster
	_, err := endless(job.Hybrid).run(ctx, train.Options{Progress: func(int, int) { cancel() }},
		func(made *Cluster) { c = made })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mustHaveLeft(t, c, 1)
}

// If the launcher is killed, every process leaves by itself within 5 s.
func TestNoOrphans(t *testing.T) {
	alive, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	s := endless(job.Hybrid)
	s.Alive = alive.Addr().String()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	launcher := osexec.Command(os.Args[0], "play", "launcher")
	launcher.Env = append(os.Environ(), settingName+"="+string(text))
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	var lives []net.Conn
	for range 9 {
		conn, err := alive.Accept()
		if err != nil {
			t.Fatal(err)
		}
		lives = append(lives, conn)
	}
	time.Sleep(200 * time.Millisecond) // somewhere between joining and training
	if err := launcher.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(5 * time.Second)
	for i, conn := range lives {
		if err := conn.SetReadDeadline(limit); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("process %d lives on: %v", i, err)
		}
	}
	_ = launcher.Wait() // it says that it was killed
}

// A PS, whose process has no rank, ends the run with its reason if it fails.
func TestFullEmbeddingPS(t *testing.T) {
	var c *Cluster
	full := endless(job.Hybrid)
	full.Training.Rows.Capacity = 1
	_, err := full.run(t.Context(), train.Options{}, func(made *Cluster) { c = made })
	if err == nil || !strings.Contains(err.Error(), "embedding-ps ") ||
		!strings.Contains(err.Error(), "table is full, with no row for sign ") {
		t.Errorf("%v", err)
	}
	mustHaveLeft(t, c, 1)
}

func TestFaultsAtTheStart(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	only := func(role msg.Role, what string) func(*Cluster) {
		return func(c *Cluster) {
			c.options.Command = func(s Start) []string {
				if s.Process[0] == (msg.Address{Role: role, Index: 1}) {
					return command(what, s)
				}
				return command("role", s)
			}
		}
	}
	for name, f := range map[string]struct {
		change func(*Cluster)
		want   string
	}{
		"port": {func(c *Cluster) { c.options.Listen = busy.Addr().String() },
			": address already in use; stop the process that holds the port"},
		"program": {func(c *Cluster) {
			c.options.Command = func(Start) []string { return []string{"/no/such/program"} }
		}, "cannot start data-loader 0: "},
		"words": {only(msg.NNWorker, "x"),
			"nn-worker 1 was started with another job than the host: give every role the same job file"},
		"unreachable": {only(msg.EmbeddingPS, "unreachable"), "cannot reach embedding-ps 1 at 127.0.0.7:9"},
	} {
		t.Run(name, func(t *testing.T) {
			var c *Cluster
			start := time.Now()
			_, err := endless(job.Hybrid).run(t.Context(), train.Options{},
				func(made *Cluster) { f.change(made); c = made })
			if err == nil || !strings.Contains(err.Error(), f.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, f.want)
			}
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("after %v", took)
			}
			for _, p := range c.processes {
				if !p.cmd.ProcessState.Exited() {
					t.Errorf("%v was killed: %v", p.roles, p.cmd.ProcessState)
				}
			}
		})
	}
}

// Gradients that travel in memory that is used again have the bits of sequential training, too: parts, which
// are kept until all have arrived, and sums, which are copied at once.
func TestLargeBucketsKeepTheirBits(t *testing.T) {
	s := setting{Training: small(job.Sync), Steps: 10}
	s.Training.Model.Top = []int{200, 60} // a bucket of some 50 KB
	got, err := s.run(t.Context(), train.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
}

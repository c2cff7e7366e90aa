package cluster

import (
	"crypto/sha256"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// A timer that is set and never fires changes neither an instant nor a record, and it does not keep a run
// going. One that fires has roles ask again: more is sent, and every law holds.
func TestTimers(t *testing.T) {
	for _, mode := range job.Modes()[1:] {
		records := func(retry unit.Tick) (string, Result) {
			j := training(mode, 4)
			j.Wire.Retry = retry
			d := digest{sha256.New()}
			a := run(t, small(), j, Options{WarmUp: 5, Measured: 10, Observer: d, check: true})
			return string(d.Sum(nil)), a
		}
		never, a := records(0)
		if late, b := records(unit.Minute); late != never || b.Elapsed != a.Elapsed {
			t.Errorf("%s: a timer of a minute changes the run, which takes %v and %v", mode, a.Elapsed,
				b.Elapsed)
		}
		short := 5 * unit.Millisecond
		asked := training(mode, 4)
		if rule, err := asked.Rule(); err != nil || rule.Dense().DensePSs {
			short = 50 * unit.Millisecond // a push takes 40 ms
		}
		if _, b := records(short); b.Messages <= a.Messages {
			t.Errorf("%s: a timer of %v: %d messages a step, %d without", mode, short, b.Messages, a.Messages)
		}
	}
}

// Roles that ask again faster than dense PSs can answer bring the cluster down; the run says so.
func TestFloodEnds(t *testing.T) {
	j := training(job.AsyncPS, 4)
	j.Wire.Retry = 5 * unit.Millisecond
	_, err := Run(hardwareOf(t, small()), j, tower(t), clicks(), Options{})
	if err == nil || !strings.Contains(err.Error(), "roles ask again every 5ms; set a longer retry") {
		t.Error(err)
	}
}

// worldOf returns a small cluster before its start.
func worldOf(t *testing.T, j *job.Job) *simulation {
	t.Helper()
	s, w := small(), clicks()
	s.Unfold = true
	p := pricesOf(t, s, j, tower(t), &w)
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
	cfg, err := j.RoleConfig(p.Layout, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	world, err := newSimulation(p, cfg, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	world.measurement = newMeasurement(span{2, 6, 1, 8}, cfg)
	return world
}

// deaf is a role that answers nothing.
type deaf struct{ role.Role }

func (deaf) HandleInput(unit.Tick, role.Input, *role.Outputs) {}

// A run in which nothing can happen any more ends with an error, though timers fire for ever.
func TestStalledRunEnds(t *testing.T) {
	for retry, want := range map[unit.Tick]string{
		0:           "nothing can happen any more, but only 0 of 2 ranks have finished",
		unit.Second: "no rank has done anything for 20",
	} {
		j := training(job.Hybrid, 2)
		j.Wire.Retry = retry
		world := worldOf(t, &j)
		at := world.roleIndex(msg.Address{Role: msg.EmbeddingPS})
		world.instances[at].role = deaf{world.instances[at].role}
		if err := world.run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("retry after %v: error %v, want %q", retry, err, want)
		}
	}
}

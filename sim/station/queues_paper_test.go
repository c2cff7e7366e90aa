package station

import (
	"math"
	"testing"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// second is the mean service time of the queues below.
const second = float64(unit.Second)

// queueLength returns the mean queue length of a station up to now.
func queueLength(s Station, now unit.Tick) float64 {
	return float64(s.Stats(now).Waited) / float64(now)
}

// near reports a mean that is off by more than 2 %.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	t.Logf("%s: %.4f, theory %.4f, %+.2f %%", what, got, want, 100*(got/want-1))
	if math.Abs(got/want-1) > 0.02 {
		t.Errorf("%s: %v, want %v within 2 %%", what, got, want)
	}
}

// M/D/1: with constant service times and load ρ, ρ²/2(1−ρ) pieces wait in the mean.
//
// Source: Pollaczek–Khinchine; Kleinrock, "Queueing Systems" I (1975), section 5.6.
func TestSerialIsMD1(t *testing.T) {
	for _, load := range []float64{0.3, 0.7} {
		draw := rng.New(1, "m/d/1", uint64(100*load))
		var s Serial
		now := 0.0
		for range 1_000_000 {
			now += draw.ExpFloat64() * second / load
			s.Run(unit.Tick(now), unit.Second)
		}
		end := unit.Tick(now)
		near(t, "load", float64(s.Busy(end))/now, load)
		near(t, "queue", queueLength(&s, end), load*load/2/(1-load))
	}
}

// M/M/c: with exponential service times and load ρ of each of c servers, Erlang's C is the probability that a
// piece waits, and C·ρ/(1−ρ) pieces wait in the mean:
//
//	C = (cρ)^c/c! / ((1−ρ) Σ_{k<c} (cρ)^k/k! + (cρ)^c/c!)
//
// The load is that of the pieces drawn, which takes most of the noise out.
//
// Source: Kleinrock, "Queueing Systems" I (1975), section 3.5.
func TestLaneIsMMc(t *testing.T) {
	for _, servers := range []int{1, 3, 8} {
		draw := rng.New(1, "m/m/c", uint64(servers))
		work := make([]arrival, 400_000)
		now, sum := 0.0, 0.0
		for i := range work {
			now += draw.ExpFloat64() * second / 0.7 / float64(servers)
			work[i] = arrival{unit.Tick(now), unit.Tick(draw.ExpFloat64() * second)}
			sum += float64(work[i].takes)
		}
		l := NewLane(servers)
		runLane(l, work)
		offered, term, below := sum/now, 1.0, 0.0
		load := offered / float64(servers)
		for k := range servers {
			below += term
			term *= offered / float64(k+1)
		}
		c := term / ((1-load)*below + term)
		near(t, "busy", float64(l.Stats(l.at).Busy)/now/float64(servers), load)
		near(t, "queue", queueLength(l, l.at), c*load/(1-load))
	}
}

// M/G/1 with processor sharing: ρ/(1−ρ) jobs are there in the mean, for any distribution of their service
// times, here constant and hyperexponential with a squared coefficient of variation of 4.
//
// Source: Kleinrock, "Queueing Systems" II (1976), section 4.4.
func TestSharedIsInsensitive(t *testing.T) {
	const load = 0.6
	draw := rng.New(1, "ps")
	for name, service := range map[string]func() float64{
		"constant": func() float64 { return 1 },
		// Balanced means: p/μ₁ = (1−p)/μ₂ = 1/2, 2p(1−p)·(c²+1) = 1.
		"hyperexponential": func() float64 {
			const c2 = 4
			p := (1 + math.Sqrt((c2-1)/float64(c2+1))) / 2
			if draw.Float64() < p {
				return draw.ExpFloat64() / (2 * p)
			}
			return draw.ExpFloat64() / (2 * (1 - p))
		},
	} {
		s := NewShared(1)
		now, jobs, there := 0.0, 0.0, 0
		var at unit.Tick
		var done []Done
		pass := func(to unit.Tick) {
			jobs += float64(there) * float64(to-at)
			at = to
		}
		for range 600_000 {
			now += draw.ExpFloat64() * second / load
			for end, ok := s.NextFinish(); ok && end <= unit.Tick(now); end, ok = s.NextFinish() {
				pass(end)
				done = s.Finished(end, done[:0])
				there -= len(done)
			}
			pass(unit.Tick(now))
			s.Start(unit.Tick(now), unit.Tick(service()*second), 1, 0)
			there++
		}
		near(t, name+": jobs", jobs/now, load/(1-load))
		// All but one of the jobs wait for a core.
		near(t, name+": queue", queueLength(s, at), load/(1-load)-load)
	}
}

package goodput

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

// alike returns a plan with one process, whose deaths make all go back, trained for a number of mean times
// between them.
func alike(every, pause, restart, between unit.Tick, times int) *Plan {
	return &Plan{Length: unit.Tick(times) * between, Every: every, Pause: pause,
		Kinds: []Kind{{"process", 1, between, GoesBack, restart}}}
}

// dalyShare returns the useful part of the time by Daly's equation for the whole time of a training,
// M·e^(R/M)·(e^((τ+δ)/M)−1) for each τ, from seconds.
func dalyShare(every, pause, restart, between float64) float64 {
	return every / (between * math.Exp(restart/between) * math.Expm1((every+pause)/between))
}

// Where all failures go back, the lost time is that of Daly's equation for the whole time of a training,
// whose form here shares no code with the package. Failures during a pause or a restart are in it. Where
// pauses are much shorter than intervals, and these than the time between failures, the time lost is also
// Young's: δ/τ + τ/2M, and R/M for restarts.
func TestLostTimeIsYoungsAndDalys(t *testing.T) {
	for _, x := range []struct {
		every, pause, restart, between float64 // seconds
		young                          bool    // its assumptions hold
	}{
		{600, 5, 0, 3600, false},
		{100, 1, 0, 5000, true},
		{200, 2, 10, 20_000, true},
		{3600, 60, 300, 36_000, false},
		{1800, 300, 600, 3600, false}, // failures strike pauses and restarts
		{60, 30, 120, 300, false},
	} {
		tick := func(s float64) unit.Tick { return unit.Tick(s * 1e9) }
		p := alike(tick(x.every), tick(x.pause), tick(x.restart), tick(x.between), 20_000)
		if x.restart+x.pause > x.between/10 {
			p.Length /= 10 // it takes many times as long
		}
		r := Simulate(p, 1)
		lost := 1 - r.Useful.Seconds()/r.Wall.Seconds()
		m := x.between
		daly := 1 - dalyShare(x.every, x.pause, x.restart, m)
		if math.Abs(lost/daly-1) > 0.02 {
			t.Errorf("%+v: %.4f of the time is lost; by Daly %.4f", x, lost, daly)
		}
		// relative to the time of training, as Young counts
		young := x.pause/x.every + x.every/(2*m) + x.restart/m
		if part := lost / (1 - lost); x.young && math.Abs(part/young-1) > 0.02 {
			t.Errorf("%+v: %.5f of the time of training is lost; by Young %.5f", x, part, young)
		}
	}
}

// Young's interval loses least by his approximation, and Daly's by his equation, than any of a grid.
func TestFormulasLoseLeast(t *testing.T) {
	const pause, between = 100.0, 5000.0 // seconds
	tick := func(s float64) unit.Tick { return unit.Tick(s * 1e9) }
	young := func(τ float64) float64 { return pause/τ + τ/(2*between) }
	daly := func(τ float64) float64 { return math.Expm1((τ+pause)/between) / τ }
	for name, x := range map[string]struct {
		lost func(τ float64) float64
		at   float64
	}{
		"Young": {young, Young(tick(pause), tick(between)).Seconds()},
		"Daly":  {daly, Daly(tick(pause), tick(between)).Seconds()},
	} {
		for τ := pause; τ < between; τ *= 1.01 {
			if x.lost(τ) < 0.99999*x.lost(x.at) {
				t.Fatalf("%s: every %.1f s loses %.6f, every %.1f s %.6f", name, x.at, x.lost(x.at), τ,
					x.lost(τ))
			}
		}
	}
	if got := Daly(3*unit.Second, unit.Second); got != unit.Second {
		t.Errorf("a pause longer than twice the time between failures: every %v", got)
	}
}

// The best interval is Young's, and Daly's, where their assumptions hold, and close to Daly's where pauses
// are long. Around it the share of the time hardly changes.
func TestBestIntervalIsYoungs(t *testing.T) {
	const hour = unit.Hour
	for _, x := range []struct{ pause, between unit.Tick }{
		{unit.Second, hour}, {20 * unit.Second, 10 * hour}, {10 * unit.Minute, 2 * hour},
	} {
		p := alike(0, x.pause, 0, x.between, 200)
		points, best := Best(p, 1, 20)
		got, want := points[best].Every, Daly(x.pause, x.between)
		if ratio := got.Seconds() / want.Seconds(); ratio < 1/1.5 || ratio > 1.5 {
			t.Errorf("%+v: the best interval is %v; by Daly %v", x, got, want)
		}
		at := dalyShare(want.Seconds(), x.pause.Seconds(), 0, x.between.Seconds())
		if math.Abs(points[best].Share-at) > 0.02*(1-at)+0.002 {
			t.Errorf("%+v: a share of %.4f at best; by Daly %.4f", x, points[best].Share, at)
		}
		least, most := Within(points, best, 0.01)
		if least > got || most < got || most.Seconds()/least.Seconds() < 1.4 {
			t.Errorf("%+v: within 1 %% from %v to %v around %v", x, least, most, got)
		}
	}
}

// A training that chooses its interval by what it has seen comes close to the best one: also one of minutes,
// whose processes fail every half minute, and one whose processes handle inputs again.
func TestAutoComesCloseToTheBest(t *testing.T) {
	again := alike(0, unit.Second, 0, 5*unit.Minute, 100)
	again.Replay, again.Kinds[0].Consequence = 0.36, Redone
	for _, c := range []struct {
		plan *Plan
		most float64 // less useful
	}{
		{alike(0, unit.Second, 0, unit.Hour, 200), 0.003},
		{alike(0, unit.Second, 0, 30*unit.Second, 20), 0.04}, {again, 0.01},
	} {
		points, best := Best(c.plan, 1, 50)
		c.plan.Auto = true
		if auto := Simulations(c.plan, 1, 50).Share; auto < points[best].Share-c.most {
			t.Errorf("%+v: %.4f useful, at best %.4f", c.plan.Kinds, auto, points[best].Share)
		}
	}
}

// A process that returns costs what it takes to notice and start it. One with a redo log also reads the
// checkpoint, and handles again half an interval of inputs on average; steps are done again only if it dies
// while training stands still.
func TestProcessesThatReturnCostTheirReturn(t *testing.T) {
	const s = unit.Second
	p := &Plan{Length: 2000 * unit.Hour, Every: 600 * s, Pause: 4 * s, Read: 3 * s, Notice: 5 * s,
		Replay: 0.25, Kinds: []Kind{{"loader", 4, 4 * unit.Hour, Returns, 20 * s},
			{"PS", 1, unit.Hour, Redone, 30 * s}}}
	r := Simulate(p, 3)
	loaders, servers := float64(r.Deaths[0]), float64(r.Deaths[1])
	for _, x := range []struct {
		cause Cause
		want  float64 // seconds
	}{
		{Noticing, 5 * (loaders + servers)},
		{Restarting, 20*loaders + (30+3)*servers},
		{Replaying, 0.25 * 300 * servers},
	} {
		if got := r.Lost[x.cause].Seconds(); math.Abs(got/x.want-1) > 0.06 {
			t.Errorf("%v: %.0f s lost, want %.0f", x.cause, got, x.want)
		}
	}
	pauses := 4.0 / 604 // of the deaths come while training stands still
	if got, most := r.Lost[Again].Seconds(), 3*pauses*servers*600; got > most || got == 0 {
		t.Errorf("steps of %.0f s are done again; want up to %.0f", got, most)
	}
	if math.Abs(loaders/2000-1) > 0.1 || math.Abs(servers/2000-1) > 0.1 {
		t.Errorf("deaths in 2,000 hours: %v", r.Deaths)
	}
}

// A checkpoint counts once it is written: a failure loses half an interval, and the time to write besides. A
// process with a redo log that dies before makes all go back; later, only what it holds is lost.
func TestCheckpointCountsOnceItIsWritten(t *testing.T) {
	const s = unit.Second
	for c, want := range map[Consequence]float64{ // seconds of training that a death repeats
		GoesBack: 300 + 90,
		Redone:   90.0 / 600 * (600 + 90.0/2),
		Copies:   0, Returns: 0,
	} {
		p := &Plan{Length: 20_000 * unit.Hour, Every: 600 * s, Write: 90 * s,
			Kinds: []Kind{{"process", 1, 20 * unit.Hour, c, 0}}}
		r := Simulate(p, 5)
		got := r.Lost[Again].Seconds() / float64(r.Deaths[0])
		if math.Abs(got-want) > 0.07*want || r.Saved < 119_000 {
			t.Errorf("%v: %.1f s a death are trained again, want %.1f; %d checkpoints", c, got, want, r.Saved)
		}
	}
	slow := &Plan{Length: 100 * unit.Hour, Every: 10 * s, Write: unit.Minute}
	if r := Simulate(slow, 1); r.Saved < 5_998 || r.Saved > 6_000 {
		t.Errorf("%d checkpoints that take a minute in 100 hours", r.Saved)
	}
}

// A rank that copies another costs what it takes to notice, start and copy. If it dies while training stands
// still, all go back.
func TestRanksThatCopyCostTheirReturn(t *testing.T) {
	const s = unit.Second
	p := &Plan{Length: 2000 * unit.Hour, Every: 600 * s, Pause: 20 * s, Write: 100 * s, Read: 50 * s,
		Copy: 2 * s, Notice: 5 * s, Kinds: []Kind{{"rank", 8, 8 * unit.Hour, Copies, 30 * s}}}
	r := Simulate(p, 2)
	deaths := float64(r.Deaths[0])
	inPause := deaths * 20 / 620
	// They begin again behind the checkpoint before, after 50 s of reading in place of 2 s of copying.
	if got, want := r.Lost[Restarting].Seconds(), 32*deaths+48*inPause; math.Abs(got/want-1) > 0.02 {
		t.Errorf("%.0f s of restarts, want %.0f", got, want)
	}
	if got, want := r.Lost[Again].Seconds(), 600*inPause; math.Abs(got/want-1) > 0.35 {
		t.Errorf("%.0f s are trained again, want %.0f", got, want)
	}
}

// Without checkpoints a training begins again with every failure: to end takes M·(e^(T/M)−1).
func TestWithoutCheckpointsAllIsTrainedAgain(t *testing.T) {
	p := alike(0, 0, 0, unit.Hour, 1)
	e := Simulations(p, 1, 20_000)
	if want := 1 / (math.E - 1); math.Abs(e.Share/want-1) > 0.02 || e.Lost[Saving] > 0 {
		t.Errorf("%+v; want a share of %.3f", e.Share, want)
	}
	p.Length = 100 * unit.Hour // e¹⁰⁰ hours
	e = Simulations(p, 1, 50)
	if e.GivenUp != e.Runs || e.Runs != givenUpMax || e.Share != 0 {
		t.Errorf("%d of %d trainings are given up, with a share of %v", e.GivenUp, e.Runs, e.Share)
	}
}

// A training that fails more often than it recovers is given up, for each consequence, and soon.
func TestHopelessTrainingsAreGivenUp(t *testing.T) {
	for c := Returns; c <= GoesBack; c++ {
		p := &Plan{Length: unit.Hour, Every: unit.Minute, Pause: unit.Second, Read: unit.Second, Replay: 1,
			Kinds: []Kind{{"process", 1_000_000, 100 * unit.Hour, c, unit.Minute}}}
		p.Kinds[0].Between = unit.Hour // 278 failures in a second
		failures := 0
		r := Simulate(p, 1)
		for _, n := range r.Deaths {
			failures += n
		}
		if !r.GivenUp || r.Useful+sum(&r) != r.Wall || failures > failuresMax {
			t.Errorf("%v: %+v", c, r)
		}
	}
}

func sum(r *Run) (lost unit.Tick) {
	for _, d := range r.Lost {
		lost += d
	}
	return lost
}

// drawPlan draws any plan.
func drawPlan(t *rapid.T) *Plan {
	seconds := func(name string, least, most float64) unit.Tick {
		return unit.Tick(1e9 * rapid.Float64Range(least, most).Draw(t, name))
	}
	p := &Plan{Length: seconds("length", 100, 1e5), Every: seconds("every", 10, 3000), // 10,000 parts at most
		Pause: seconds("pause", 0, 60), Write: seconds("write", 0, 600), Read: seconds("read", 0, 60),
		Copy: seconds("copy", 0, 60), Notice: seconds("notice", 0, 10),
		Replay: rapid.Float64Range(0, 2).Draw(t, "replay")}
	if rapid.Bool().Draw(t, "without checkpoints") {
		p.Every = 0
	}
	for c := range rapid.IntRange(0, 5).Draw(t, "kinds") {
		p.Kinds = append(p.Kinds, Kind{"process", rapid.IntRange(1, 50).Draw(t, "count"),
			seconds("between", 1e3, 1e7), Consequence(c % 4), seconds("restart", 0, 300)})
	}
	return p
}

// Every moment of a training is useful, or is lost to one cause. The same seed has the same training.
func TestEveryMomentIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, seed := drawPlan(t), rapid.Uint64().Draw(t, "seed")
		r := Simulate(p, seed)
		if r.Useful+sum(&r) != r.Wall {
			t.Fatalf("%v useful and %v lost of %v", r.Useful, sum(&r), r.Wall)
		}
		for c, d := range r.Lost {
			if d < 0 {
				t.Fatalf("%v: %v", Cause(c), d)
			}
		}
		if !r.GivenUp && r.Useful != p.Length {
			t.Fatalf("ended with %v of %v", r.Useful, p.Length)
		}
		if again := Simulate(p, seed); !reflect.DeepEqual(r, again) {
			t.Fatalf("%+v, and then %+v", r, again)
		}
	})
}

// What is better makes the expected share of useful time no smaller.
func TestBetterIsNotWorse(t *testing.T) {
	worse := Plan{Length: 500 * unit.Hour, Every: 20 * unit.Minute, Pause: 20 * unit.Second,
		Write: 2 * unit.Minute, Read: 20 * unit.Second, Copy: unit.Second, Notice: 5 * unit.Second,
		Replay: 0.5, Kinds: []Kind{
			{"loader", 2, 10 * unit.Hour, Returns, unit.Minute},
			{"PS", 10, 40 * unit.Hour, Redone, unit.Minute},
			{"rank", 8, 40 * unit.Hour, GoesBack, 2 * unit.Minute}}}
	share := func(p *Plan) float64 { return Simulations(p, 1, 32).Share }
	before := share(&worse)
	for name, improve := range map[string]func(p *Plan){
		"pause": func(p *Plan) { p.Pause /= 2 }, "write": func(p *Plan) { p.Write /= 2 },
		"read":   func(p *Plan) { p.Read /= 2 },
		"notice": func(p *Plan) { p.Notice /= 5 }, "replay": func(p *Plan) { p.Replay /= 2 },
		"between loaders":   func(p *Plan) { p.Kinds[0].Between *= 2 },
		"between PSs":       func(p *Plan) { p.Kinds[1].Between *= 2 },
		"between ranks":     func(p *Plan) { p.Kinds[2].Between *= 2 },
		"fewer ranks":       func(p *Plan) { p.Kinds[2].Count /= 2 },
		"restart of ranks":  func(p *Plan) { p.Kinds[2].Restart /= 2 },
		"PSs return":        func(p *Plan) { p.Kinds[1].Consequence = Returns },
		"ranks copy others": func(p *Plan) { p.Kinds[2].Consequence = Copies },
		"ranks redo inputs": func(p *Plan) { p.Kinds[2].Consequence = Redone },
	} {
		better := worse
		better.Kinds = append([]Kind(nil), worse.Kinds...)
		improve(&better)
		if after := share(&better); after <= before {
			t.Errorf("%s: better, and a share of %.4f after %.4f", name, after, before)
		}
	}
}

// Shares of the useful and the lost time have the sum 1, and a range holds the mean of the trainings.
func TestEstimate(t *testing.T) {
	p := alike(10*unit.Minute, 10*unit.Second, unit.Minute, 5*unit.Hour, 20)
	e := Simulations(p, 7, 100)
	total := e.Share
	for _, part := range e.Lost {
		total += part
	}
	low, high := Range(e.Shares)
	if math.Abs(total-1) > 1e-9 || e.Runs != 100 || low > e.Share || high < e.Share || low == high {
		t.Errorf("%+v, from %v to %v", e, low, high)
	}
	if p.Between() != 5*unit.Hour || e.GivenUp != 0 || e.Repeats < 1 {
		t.Errorf("between %v, %+v", p.Between(), e)
	}
}

// Checkpoints that cost nothing are best without end; no more are simulated than take seconds.
func TestBestIntervalOfFreeCheckpoints(t *testing.T) {
	p := &Plan{Length: 7 * 24 * unit.Hour}
	points, best := Best(p, 1, 1)
	if every := points[best].Every; every != Shortest(p.Length) || p.Length/every > checkpointsMax+1 {
		t.Errorf("every %v in %v", every, p.Length)
	}
	if got := Shortest(unit.Hour); got != unit.Millisecond {
		t.Errorf("every %v in an hour", got)
	}
}

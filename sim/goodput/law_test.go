package goodput

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/unit"
)

// Failures after which training is repeated count by their rate, those of a process with a redo log by the
// share of the time that it handles again, and others not at all.
func TestTimeBetweenFailuresThatRepeat(t *testing.T) {
	const hour = unit.Hour
	kind := func(c Consequence, count int, between unit.Tick) Kind { return Kind{"", count, between, c, 0} }
	for _, c := range []struct {
		kinds  []Kind
		replay float64
		want   unit.Tick
	}{
		{nil, 1, unit.Forever},
		{[]Kind{kind(Returns, 5, hour), kind(Copies, 3, hour)}, 1, unit.Forever},
		{[]Kind{kind(GoesBack, 4, hour)}, 0.25, hour / 4},
		{[]Kind{kind(Redone, 1, hour)}, 0.25, 4 * hour},
		{[]Kind{kind(Redone, 2, hour)}, 0, unit.Forever},
		{[]Kind{kind(GoesBack, 1, 2*hour), kind(Redone, 1, hour), kind(Returns, 9, hour)}, 0.5, hour},
		{[]Kind{kind(GoesBack, 1, unit.Forever)}, 1, unit.Forever},
	} {
		got := (&Plan{Kinds: c.kinds, Replay: c.replay}).Between()
		if math.Abs(float64(got-c.want)) > 1e-9*float64(c.want) {
			t.Errorf("%+v, replay %v: %v, want %v", c.kinds, c.replay, got, c.want)
		}
	}
}

// Daly's formula is √(2δM)·[1 + ⅓·(δ/2M)^½ + ⅑·(δ/2M)] − δ where δ < 2M (his equation 37), else M; Young's is
// its first factor.
func TestFormulasAreThoseOfThePapers(t *testing.T) {
	for _, c := range []struct{ pause, between float64 }{
		{1, 50}, {1, 5000}, {3, 4}, {5, 4}, {7.9, 4}, {8, 4}, {9, 4}, {100, 3600},
	} {
		tick := func(s float64) unit.Tick { return unit.Tick(s * 1e9) }
		young := math.Pow(c.pause*c.between+c.between*c.pause, 0.5)
		part := c.pause / (c.between + c.between)
		daly := young + young*math.Pow(part, 0.5)/3 + young*part/9 - c.pause
		if part >= 1 {
			daly = c.between
		}
		if got := Young(tick(c.pause), tick(c.between)).Seconds(); math.Abs(got-young) > 1e-6 {
			t.Errorf("%+v: Young's interval is %v s, want %v", c, got, young)
		}
		if got := Daly(tick(c.pause), tick(c.between)).Seconds(); math.Abs(got-daly) > 1e-6 {
			t.Errorf("%+v: Daly's interval is %v s, want %v", c, got, daly)
		}
	}
	if Young(unit.Forever/4, unit.Forever/4) > unit.Forever/2 || Daly(unit.Hour,
		unit.Forever) > unit.Forever/2 {
		t.Error("an interval after the end of time")
	}
}

// Intervals within a part of the best share are those around it without a gap, up to either end.
func TestIntervalsWithinAPartOfTheBest(t *testing.T) {
	shares := []float64{0.5, 0.75, 0.25, 0.75, 1, 0.75, 0.5, 0.75}
	var points []Point
	for i, s := range shares {
		points = append(points, Point{unit.Tick(i), s})
	}
	for _, c := range []struct {
		part        float64
		least, most unit.Tick
	}{{0, 4, 4}, {0.24, 4, 4}, {0.25, 3, 5}, {0.5, 3, 7}, {0.75, 0, 7}} {
		if least, most := Within(points, 4, c.part); least != c.least || most != c.most {
			t.Errorf("within %v: from %v to %v, want from %v to %v", c.part, least, most, c.least, c.most)
		}
	}
}

// A range leaves out one share in a hundred at either end, and rounds outwards.
func TestRangeIsFromTheFirstToTheLastPercentile(t *testing.T) {
	var shares []float64
	for i := range 101 {
		shares = append(shares, float64((i*37)%101))
	}
	if low, high := Range(shares); low != 1 || high != 99 {
		t.Errorf("of 0 to 100 from %v to %v", low, high)
	}
	if low, high := Range([]float64{0.5, 0.25, 0.75}); low != 0.25 || high != 0.75 {
		t.Errorf("of three from %v to %v", low, high)
	}
}

// Without failures a training takes its length and its pauses. None is behind the last step, and a checkpoint
// begins where the one before is complete.
func TestTrainingsWithoutFailures(t *testing.T) {
	const s = unit.Second
	for _, c := range []struct {
		length, every, pause, write unit.Tick
		saved, pauses               int
	}{
		{100, 0, 1, 1, 0, 0},
		{100, 100, 1, 0, 0, 0},
		{100, 10, 1, 0, 9, 9},
		{100, 10, 0, 10, 9, 9}, // complete with the next part
		{100, 10, 0, 11, 8, 9}, // at 10, 21, … 98
		{100, 10, 2, 25, 3, 4}, // at 10, 37, 64 and 91 of 108
		{100, 99, 3, 2, 0, 1},  // not complete at the end
		{100, 40, 5, 20, 2, 2}, // complete at the last moment: 40 and 80
		{100, 33, 1, 1, 3, 3},  // complete one second before the last
		{100, 200, 50, 10, 0, 0},
	} {
		r := Simulate(&Plan{Length: c.length * s, Every: c.every * s, Pause: c.pause * s,
			Write: c.write * s}, 1)
		lost := unit.Tick(c.pauses) * c.pause * s
		if r.Wall != c.length*s+lost || r.Lost[Saving] != lost || r.Saved != c.saved || r.GivenUp {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// While a process returns, training stands still but can be lost: another failure makes all go back as it
// would at any time. A checkpoint that is complete meanwhile counts at once.
func TestFailuresWhileAProcessReturns(t *testing.T) {
	const s = unit.Second
	p := &Plan{Length: 300 * unit.Hour, Every: 600 * s,
		Kinds: []Kind{{"loader", 1, unit.Hour, Returns, unit.Hour}, {"PS", 1, 2 * unit.Hour, GoesBack, 0}}}
	r := Simulate(p, 3)
	if got := r.Lost[Again].Seconds() / float64(r.Deaths[1]); math.Abs(got-300) > 40 {
		t.Errorf("%.0f s are trained again for each death of a PS, want 300", got)
	}
	// 100 s of training in 1000 s: the rest are returns, and in those the last checkpoint is soon complete.
	p = &Plan{Length: 100 * unit.Hour, Every: 100 * s, Write: 100 * s,
		Kinds: []Kind{{"loader", 1, 400 * s, Returns, unit.Hour}, {"PS", 1, unit.Hour, Redone, 0}}}
	r = Simulate(p, 4)
	if got := r.Lost[Again].Seconds() / float64(r.Deaths[1]); got > 0.3*150 {
		t.Errorf("%.0f s are trained again for each death of a PS, want 150 in one of eight", got)
	}
}

// Deaths are those in the time of one training, by kind.
func TestDeathsAreThoseOfOneTraining(t *testing.T) {
	p := alike(10*unit.Minute, 10*unit.Second, unit.Minute, 5*unit.Hour, 20)
	p.Kinds = append(p.Kinds, Kind{"never", 1, unit.Forever, Returns, 0})
	e := Simulations(p, 3, 5)
	sum := 0
	for i := range 5 {
		sum += Simulate(p, 3+uint64(i)).Deaths[0]
	}
	if want := []float64{float64(sum) / 5, 0}; !slices.Equal(e.Deaths, want) {
		t.Errorf("%v, want %v", e.Deaths, want)
	}
}

// The part of a host is its share of the rows, or of the dense network if that is larger.
func TestPartOfACheckpoint(t *testing.T) {
	for _, preset := range []string{"persia-gcp", "dgx-h100"} {
		for _, rows := range []float64{1, 1e6, 1e12} {
			j := jobOn(t, preset, map[string]string{"persia-gcp": job.AsyncPS, "dgx-h100": job.Sync}[preset])
			j.Workload.Rows = rows
			s, err := SizeOf(j)
			if err != nil {
				t.Fatal(err)
			}
			ofRows := j.Workload.BytesOfRows(8)
			shards := max(1, len(j.DenseShards(j.Layout)))
			want := math.Max(ofRows/float64(s.Hosts), (float64(s.Whole)-ofRows)/float64(shards))
			if math.Abs(float64(s.Part)-want) > 1e-9*want+1 {
				t.Errorf("%s with %g rows: a part of %v bytes of %v on %d hosts and %d dense PSs, want %v",
					preset,
					rows, float64(s.Part), float64(s.Whole), s.Hosts, shards, want)
			}
		}
	}
}

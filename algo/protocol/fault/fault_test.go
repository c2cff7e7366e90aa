package fault_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

var (
	from = msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	to   = msg.Address{Role: msg.EmbeddingPS, Index: 2}
)

// arrival is a parcel with the time at which the injector releases it.
type arrival struct {
	step  int32
	at    unit.Tick
	delay unit.Tick
}

// send sends n messages, one every gap, and returns the parcels in the order of their release.
func send(p *fault.Plan, n int, gap unit.Tick) ([]arrival, fault.Counts) {
	in := fault.NewInjector[any](p, from, 0)
	var all []arrival
	now := unit.Tick(0)
	collect := func(parcels []fault.Parcel[any]) {
		for _, q := range parcels {
			all = append(all, arrival{q.Message.Step, now, q.Delay})
		}
	}
	flush := func(until unit.Tick) {
		for due, ok := in.Next(); ok && due <= until; due, ok = in.Next() {
			now = due
			collect(in.Flush(nil, now))
		}
		now = until
	}
	for i := range n {
		flush(unit.Tick(i) * gap)
		collect(in.Send(nil, now, msg.Message{From: from, To: to, Step: int32(i)}, nil))
	}
	flush(now + unit.Second)
	return all, in.Counts()
}

// Faults occur at the rates of the plan: a binomial count of n draws lies within 5 standard deviations of
// its mean.
func TestFaultsOccurAtTheirRates(t *testing.T) {
	const n = 200_000
	p := fault.Plan{Seed: 7, Drop: 0.01, Duplicate: 0.02,
		Delay: fault.Delay{Rate: 0.03, Max: 50 * unit.Millisecond}}
	all, counts := send(&p, n, unit.Microsecond)
	within := func(what string, got int64, rate float64) {
		t.Helper()
		if off := math.Abs(float64(got) - n*rate); off > 5*math.Sqrt(n*rate*(1-rate)) {
			t.Errorf("%s: %d of %d, want a share of %g", what, got, n, rate)
		}
	}
	within("dropped", counts.Dropped, p.Drop)
	within("duplicated", counts.Duplicated, p.Duplicate)
	within("delayed", counts.Delayed, p.Delay.Rate*(1-p.Drop))
	sum := unit.Tick(0)
	copies := map[int32]int{}
	delayed := 0
	for _, a := range all {
		copies[a.step]++
		if a.delay < 0 || a.delay > p.Delay.Max {
			t.Fatalf("delay %v, want 0 to %v", a.delay, p.Delay.Max)
		}
		if a.delay > 0 {
			sum += a.delay
			delayed++
		}
	}
	if got := n - len(copies); int64(got) != counts.Dropped {
		t.Errorf("%d messages are never released, but Counts has %d", got, counts.Dropped)
	}
	if mean := float64(sum) / float64(delayed) / float64(p.Delay.Max); mean < 0.48 || mean > 0.52 {
		t.Errorf("the mean delay is %.3f of the longest, want half", mean)
	}
}

// At most Reorder later messages overtake a message, no message waits longer than HoldMax, and some
// messages are overtaken.
func TestReorderIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := fault.Plan{Seed: rapid.Uint64().Draw(t, "seed"),
			Reorder: rapid.IntRange(0, 20).Draw(t, "reorder")}
		gap := rapid.SampledFrom([]unit.Tick{1, 10 * unit.Microsecond, unit.Millisecond / 4}).Draw(t, "gap")
		const n = 300
		all, _ := send(&p, n, gap)
		if len(all) != n {
			t.Fatalf("%d of %d messages are released", len(all), n)
		}
		most := 0
		for i, a := range all {
			overtakers := 0
			for _, b := range all[:i] {
				if b.step > a.step {
					overtakers++
				}
			}
			if most = max(most, overtakers); overtakers > p.Reorder {
				t.Fatalf("message %d is overtaken by %d messages, want at most %d", a.step, overtakers,
					p.Reorder)
			}
			if waited := a.at - unit.Tick(a.step)*gap; waited > fault.HoldMax {
				t.Fatalf("message %d waits %v, want at most %v", a.step, waited, fault.HoldMax)
			}
		}
		if gap == 1 && p.Reorder > 0 && most == 0 {
			t.Fatal("no message is overtaken, want some")
		}
	})
}

// The fate of a message depends on the seed, sender, receiver, incarnation and number of the
// message only, not on messages to other roles in between.
func TestFatesDependOnTheNameOfAMessageOnly(t *testing.T) {
	p := fault.Plan{Seed: 3, Drop: 0.3, Duplicate: 0.3, Delay: fault.Delay{Rate: 0.5, Max: unit.Second}}
	fates := func(p fault.Plan, incarnation uint32, others int) (sent []fault.Parcel[any]) {
		in := fault.NewInjector[any](&p, from, incarnation)
		for i := range 100 {
			sent = in.Send(sent, 0, msg.Message{From: from, To: to, Step: int32(i)}, nil)
			for range others {
				in.Send(nil, 0, msg.Message{From: from, To: msg.Address{Role: msg.NNWorker}}, nil)
			}
		}
		return sent
	}
	equal := func(a, b []fault.Parcel[any]) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}
	base := fates(p, 0, 0)
	if !equal(base, fates(p, 0, 3)) {
		t.Error("messages to another role change the fates")
	}
	other := p
	other.Seed++
	if equal(base, fates(other, 0, 0)) || equal(base, fates(p, 1, 0)) {
		t.Error("another seed or incarnation gives the same fates")
	}
}

func TestParseReadsString(t *testing.T) {
	for _, text := range []string{"none", fault.Syntax, "crash=coordinator/0@0+0", "delay=1:10s,seed=9"} {
		p, err := fault.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := fault.Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%s: String() = %s, which Parse reads as %s, error %v", text, p, again, err)
		}
	}
}

func TestParseErrorsNameTheKeyAndThePossibleValues(t *testing.T) {
	for text, want := range map[string]string{
		"loss=0.1":                   `unknown fault "loss"; use drop, duplicate, reorder,`,
		"drop":                       `"drop" is not KEY=VALUE`,
		"drop=1.5":                   "drop = 1.5; want a probability, 0 to 1",
		"drop=1":                     "drop = 1 loses every message",
		"drop=NaN":                   "drop = NaN",
		"drop=x":                     "drop=x: not a number",
		"drop=0.1,drop=0.2":          "drop is given twice",
		"duplicate=-1":               "duplicate = -1",
		"reorder=-1":                 "reorder = -1; want 0 to 1024 messages",
		"delay=0.5":                  "delay=0.5; want RATE:LONGEST",
		"delay=0.5:0":                "delay.rate = 0.5 needs delay.max",
		"delay=0.5:1h":               "delay.max = 1h; want 0 to 10s",
		"crash=embedding-worker/0":   "want ROLE/INDEX@STEP+AWAY",
		"crash=gpu/0@3":              `unknown role "gpu"; use one of data-loader`,
		"crash=data-loader/-1@3":     "crashes[0].index = -1",
		"crash=data-loader/0@3+1h":   "crashes[0].away = 1h; want 0 to 1min",
		"crash=data-loader/0@-3+1ms": "crashes[0].step = -3",
	} {
		if _, err := fault.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// Crashes are due in the order of their steps, each once, at the first input about its step or a later one.
func TestSchedule(t *testing.T) {
	const text = "crash=embedding-worker/1@9+1s,crash=embedding-worker/1@4+2s,crash=embedding-worker/0@1+3s"
	p, err := fault.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Schedule(from)
	var got []unit.Tick
	for _, step := range []int32{-1, 0, 3, 5, 5, -1, 8, 20, 20} {
		if away, due := s.Due(step); due {
			got = append(got, away)
		}
	}
	if len(got) != 2 || got[0] != 2*unit.Second || got[1] != unit.Second {
		t.Errorf("Due returned %v, want 2s and 1s", got)
	}
}

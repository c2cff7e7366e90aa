package table_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tandem/algo/numeric/internal/pooltest"
	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
)

// aged is a map of rows that age, which remembers of every sign what the table has no memory for.
type aged struct {
	expiry, count int
	step          int
	rows          map[uint64][]float32 // embedding ‖ state
	updates       map[uint64]uint32
	read          map[uint64]int // by sign with a row: the latest step
	seen          map[uint64]int // by sign without: the steps that count
	counted       map[uint64]int // the latest of these
	expired       int
}

// begin begins a step: at every multiple of expiry since the step before, what goes are rows, and signs that
// wait, which no step since the multiple before has read.
func (a *aged) begin(step int) {
	for s := a.step + 1; s <= step; s++ {
		if a.expiry == 0 || s%a.expiry != 0 {
			continue
		}
		for sign, last := range a.read {
			if last < s-a.expiry {
				delete(a.rows, sign)
				delete(a.read, sign)
				delete(a.updates, sign)
				a.expired++
			}
		}
		for sign, last := range a.counted {
			if last < s-a.expiry {
				delete(a.seen, sign)
				delete(a.counted, sign)
			}
		}
	}
	a.step = step
}

// lookup reads a sign.
func (a *aged) lookup(sign uint64) []float32 {
	if a.rows[sign] == nil {
		if last, waits := a.counted[sign]; !waits || last < a.step {
			a.seen[sign]++
			a.counted[sign] = a.step
		}
		if a.seen[sign] < a.count {
			return make([]float32, dim)
		}
		delete(a.seen, sign)
		delete(a.counted, sign)
		a.rows[sign] = append(initial(sign), startState, startState, startState)
	}
	a.read[sign] = a.step
	return a.rows[sign][:dim]
}

// A table whose rows expire or wait for a count of steps has the rows, values and counts of a map that notes
// when each sign was read, where gradients come steps after their reads, steps are read twice and left out,
// and the table is frozen, copied and shared over goroutines on the way.
func TestRowsThatAgeAgainstMap(t *testing.T) {
	steps := 400
	if *long {
		steps *= 10
	}
	for _, set := range isa.Sets() {
		for _, k := range [][2]int{{1, 0}, {3, 0}, {3, 2}, {10, 3}, {0, 2}, {4, 1}} {
			t.Run(fmt.Sprint(set, k), func(t *testing.T) { ageAgainstMap(t, set, k[0], k[1], steps) })
		}
	}
}

// lateRead is a read whose gradients have not come.
type lateRead struct {
	signs   []uint64
	found   []table.Found
	refused []bool
}

func ageAgainstMap(t *testing.T, set isa.Set, expiry, count, steps int) {
	c := config()
	c.Expiry, c.AdmissionCount = expiry, count
	tab := mustNew(t, c)
	tab.Use(set)
	m := &aged{expiry: expiry, count: max(count, 1), rows: map[uint64][]float32{}, read: map[uint64]int{},
		updates: map[uint64]uint32{}, seen: map[uint64]int{}, counted: map[uint64]int{}}
	stream := rng.New(1, "ages", uint64(set), uint64(expiry), uint64(count))
	var late []lateRead
	var want table.Outcome
	for step := 1; step < steps; step += 1 + stream.IntN(6)/5*stream.IntN(2*expiry+2) {
		tab.ExpireAt(step)
		m.begin(step)
		for range 1 + stream.IntN(2) {
			late = append(late, ageLookup(t, tab, m, stream, step))
		}
		for len(late) > 3 || len(late) > 0 && stream.IntN(2) == 0 {
			ageApply(t, tab, m, late[0], stream, &want)
			late = late[1:]
		}
		switch stream.IntN(20) {
		case 0:
			copied := tab.Clone()
			tab.ExpireAt(step + expiry)
			others := make([]uint64, 50)
			for i := range others {
				others[i] = uint64(i)
			}
			if err := tab.LookupStep(step+1, others, make([]float32, len(others)*dim), nil); err != nil {
				t.Fatal(err)
			}
			tab = copied
			tab.Use(set)
		case 1:
			tab = transferred(t, tab, c)
			tab.Use(set)
			late = nil // places are others
		case 2:
			tab.Freeze(nil, nil).Release()
		}
		if tab.ExpireAt(step-1) > 0 {
			t.Fatal("an earlier step removes rows")
		}
	}
	if tab.Outcomes() != want || tab.Evicted() != m.expired {
		t.Errorf("outcomes %+v, %d expired; want %+v, %d", tab.Outcomes(), tab.Evicted(), want, m.expired)
	}
	if expiry > 0 && (m.expired == 0 || want.Evicted == 0) || count > 1 && want.Refused == 0 ||
		want.Applied == 0 {
		t.Errorf("nothing to see: %d expired, outcomes %+v", m.expired, want)
	}
	if got := tab.CandidateCount(); got != len(m.seen) {
		t.Errorf("%d signs wait for rows, want %d", got, len(m.seen))
	}
	compareAll(t, tab, m.rows)
}

// ageLookup reads some distinct signs, small ones more often.
func ageLookup(t *testing.T, tab *table.Table, m *aged, stream *rand.Rand, step int) lateRead {
	distinct := map[uint64]bool{}
	for range stream.IntN(60) {
		draw := stream.Uint64N(300)
		distinct[draw*draw/300] = true
	}
	signs := slices.Sorted(maps.Keys(distinct))
	stream.Shuffle(len(signs), func(i, j int) { signs[i], signs[j] = signs[j], signs[i] })
	r := lateRead{signs, make([]table.Found, len(signs)), make([]bool, len(signs))}
	dst := make([]float32, len(signs)*dim)
	if err := tab.LookupStep(step, signs, dst, r.found); err != nil {
		t.Fatal(err)
	}
	for i, sign := range signs {
		want := m.lookup(sign)
		r.refused[i] = m.rows[sign] == nil
		if got := dst[i*dim : (i+1)*dim]; !slices.Equal(got, want) || r.found[i].Refused() != r.refused[i] ||
			r.found[i].Updates != m.updates[sign] {
			t.Fatalf("step %d: sign %d reads %v, %+v; want %v, %d updates", step, sign, got, r.found[i], want,
				m.updates[sign])
		}
	}
	return r
}

// ageApply applies gradients of an earlier read.
func ageApply(t *testing.T, tab *table.Table, m *aged, r lateRead, stream *rand.Rand, all *table.Outcome) {
	grads := make([]float32, len(r.signs)*dim)
	var want table.Outcome
	for i, sign := range r.signs {
		grad := grads[i*dim : (i+1)*dim]
		for j := range grad {
			grad[j] = float32(stream.Uint64N(5)) / 4
		}
		switch row := m.rows[sign]; {
		case row != nil:
			sumOfGrads{}.Apply(row[:dim], row[dim:], grad, 1)
			m.updates[sign]++
			want.Applied++
		case r.refused[i]:
			want.Refused++
		default:
			want.Evicted++
		}
	}
	if got := tab.Apply(r.signs, grads, 1, &table.Read{Found: r.found}); got != want {
		t.Fatalf("step %d: outcome %+v, want %+v", m.step, got, want)
	}
	all.Add(want)
}

// transferred returns a table that has got rows, counters and candidates of another.
func transferred(t *testing.T, from *table.Table, c table.Config) *table.Table {
	to := mustNew(t, c)
	f := from.Freeze(nil, nil)
	rows := table.NewColumns(f.Len(), f.EmbeddingBytes(), f.StateBytes())
	f.CopyRows(0, rows)
	err := errors.Join(to.AddRows(rows), to.AddCandidates(f.Candidates()), to.SetCounters(f.Counters()))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// With a pool, absent rows are created behind those that exist: rows that age are the same then.
func TestRowsThatAgeAreTheSameOnSeveralCores(t *testing.T) {
	c := config()
	c.Expiry, c.AdmissionCount = 2, 2
	alone := mustNew(t, c)
	c.Pool = &pooltest.Pool{}
	shared := mustNew(t, c)
	stream := rng.New(1, "ages on several cores")
	for step := range 12 {
		signs := make([]uint64, 5000)
		for i, at := range stream.Perm(len(signs)) {
			signs[at] = uint64(i) * (1 + stream.Uint64N(2))
		}
		slices.Sort(signs)
		signs = slices.Compact(signs)
		for _, tab := range []*table.Table{alone, shared} {
			found, dst := make([]table.Found, len(signs)), make([]float32, len(signs)*dim)
			tab.ExpireAt(step)
			if err := tab.LookupStep(step, signs, dst, found); err != nil {
				t.Fatal(err)
			}
			tab.Apply(signs, dst, 1, &table.Read{Found: found})
		}
		if alone.Digest() != shared.Digest() || alone.Counters() != shared.Counters() {
			t.Fatalf("step %d: other rows", step)
		}
	}
	if alone.Evicted() == 0 || alone.Outcomes().Refused == 0 || alone.Len() == 0 {
		t.Errorf("nothing to see: %+v", alone.Counters())
	}
}

// A row whose place is behind the last row, since rows have expired, gets no gradient: not even that of sign
// 0, whose header looks like that of no row.
func TestNoGradientForAPlaceWithoutRow(t *testing.T) {
	for _, set := range isa.Sets() {
		c := config()
		c.Expiry = 1
		tab := mustNew(t, c)
		tab.Use(set)
		found := make([]table.Found, 2)
		signs := []uint64{5, 0}
		if err := tab.LookupStep(1, signs, make([]float32, 2*dim), found); err != nil {
			t.Fatal(err)
		}
		tab.ExpireAt(2)
		if removed := tab.ExpireAt(3); removed != 2 {
			t.Errorf("%v: %d rows have expired, want both", set, removed)
		}
		want := table.Outcome{Evicted: 2}
		if got := tab.Apply(signs, make([]float32, 2*dim), 1, &table.Read{Found: found}); got != want {
			t.Errorf("%v: outcome %+v, want %+v", set, got, want)
		}
	}
}

// With more candidates than there is room for, some are forgotten, no sign gets a row before its time, and
// memory has its bound.
func TestCandidatesHaveABound(t *testing.T) {
	const most = 1000
	c := config()
	c.AdmissionCount, c.Candidates = 3, most
	tab := mustNew(t, c)
	seen := map[uint64]int{}
	stream := rng.New(1, "candidates")
	late, dst := 0, make([]float32, dim)
	for step := range 40_000 {
		sign := []uint64{stream.Uint64N(20)}
		if step%4 > 0 {
			sign[0] = stream.Uint64()
		}
		had := seen[sign[0]] >= 3
		seen[sign[0]]++
		rows := tab.Len()
		if err := tab.LookupStep(step, sign, dst, nil); err != nil {
			t.Fatal(err)
		}
		switch {
		case tab.Len() > rows && seen[sign[0]] < 3:
			t.Fatalf("sign %d has a row after %d steps", sign[0], seen[sign[0]])
		case tab.Len() > rows && had:
			late++
		}
		if tab.CandidateCount() > most {
			t.Fatalf("%d candidates of at most %d", tab.CandidateCount(), most)
		}
	}
	if tab.Len() != 20 {
		t.Errorf("%d rows, want those of the 20 signs that come often", tab.Len())
	}
	if got, want := int(tab.CandidateMemory()), most*43; got > want {
		t.Errorf("candidates take %d bytes, want at most %d", got, want)
	}
	if err := tab.AddCandidates([]table.Candidate{{Sign: 1 << 63}}); err == nil {
		t.Error("a sign that no step has seen waits")
	}
	again := []table.Candidate{{Sign: 9, Seen: 1}, {Sign: 9, Seen: 1, Old: true}}
	if err := tab.AddCandidates(again); err == nil {
		t.Error("a sign waits twice")
	}
}

func BenchmarkExpire(b *testing.B) {
	c := config()
	c.Dim, c.Expiry = 16, 1
	for b.Loop() {
		b.StopTimer()
		tab := mustNew(b, c)
		signs := make([]uint64, 1<<20)
		for i := range signs {
			signs[i] = uint64(i)
		}
		err := tab.LookupStep(1, signs, make([]float32, len(signs)*16), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		tab.ExpireAt(2)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<20), "ns/row")
}

// Rows that expire while frozen rows wait to be read do not wait for the reader: only those that go or move
// take room in the buffer. The reader gets the rows of the moment, also where rows are read and updated
// again.
func TestExpiryDoesNotWaitForAReader(t *testing.T) {
	c := config()
	c.Expiry = 10
	tab := mustNew(t, c)
	signs := make([]uint64, 20_000)
	for i := range signs {
		signs[i] = uint64(i)
	}
	values := make([]float32, len(signs)*dim)
	if err := tab.LookupStep(1, signs, values, nil); err != nil {
		t.Fatal(err)
	}
	tab.ExpireAt(10)
	if err := tab.LookupStep(11, signs[100:len(signs)-5], values[:(len(signs)-105)*dim], nil); err != nil {
		t.Fatal(err)
	}
	want, waits := columnsOf(tab), 0
	f := tab.Freeze(make([]byte, 1<<14), func(room func()) { waits++; room() })
	released := make(chan bool)
	go func() { // what waits for ever without it, fails below
		defer close(released)
		time.Sleep(50 * time.Millisecond)
		some := table.NewColumns(1000, f.EmbeddingBytes(), f.StateBytes())
		for first := 0; first < f.Len(); first += len(some.Signs) {
			f.CopyRows(first, some)
			for i, sign := range some.Signs {
				if sign != want.Signs[first+i] || some.Read[i] != want.Read[first+i] ||
					some.Updates[i] != want.Updates[first+i] {
					t.Errorf("row %d is another", first+i)
				}
			}
		}
	}()
	removed := tab.ExpireAt(20)
	if removed != 105 || waits > 0 {
		t.Errorf("%d rows have expired, and that has waited %d times", removed, waits)
	}
	again := &trainer{rand.New(rand.NewPCG(1, 2)), 20_000, 21}
	again.batches(t, tab, 20)
	<-released
}

// A candidate that has been seen more often than a table asks for, as one of a model that asked for more
// steps, gets its row with the next step, and is counted as long as it waits.
func TestCandidatesThatWereSeenOften(t *testing.T) {
	for _, count := range []int{2, 255} {
		c := config()
		c.AdmissionCount = count
		tab := mustNew(t, c)
		all := []table.Candidate{{Sign: 1, Seen: 255}, {Sign: 2, Seen: 255, Old: true}, {Sign: 3, Seen: 1}}
		if err := tab.AddCandidates(all); err != nil {
			t.Fatal(err)
		}
		if err := tab.LookupStep(9, []uint64{1, 2}, make([]float32, 2*dim), nil); err != nil {
			t.Fatal(err)
		}
		if tab.Len() != 2 || tab.CandidateCount() != 1 {
			t.Errorf("count %d: %d rows, %d candidates, want 2 and 1", count, tab.Len(), tab.CandidateCount())
		}
	}
}

// A read of an earlier step than the latest of a sign counts nothing.
func TestEarlierStepsDoNotCount(t *testing.T) {
	c := config()
	c.AdmissionCount = 3
	tab := mustNew(t, c)
	for i, step := range []int{5, 4, 5, 6, 5, 7} {
		if err := tab.LookupStep(step, []uint64{1}, make([]float32, dim), nil); err != nil {
			t.Fatal(err)
		}
		if rows := tab.Len(); rows != i/5 {
			t.Errorf("read %d, of step %d: %d rows", i, step, rows)
		}
	}
}

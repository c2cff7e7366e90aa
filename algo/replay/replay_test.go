package replay

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/event"
	"tandem/algo/job"
	"tandem/algo/msg"
	"tandem/algo/pace"
	"tandem/algo/role"
	"tandem/algo/unit"
)

var long = flag.Bool("long", false, "replay more seeds")

func seeds() uint64 {
	if *long {
		return 100
	}
	return 5
}

// modes are those that have roles.
func modes() []string {
	return slices.DeleteFunc(job.Modes(), func(mode string) bool { return mode == job.Sequential })
}

// records keeps every record in the order of its arrival.
type records []event.Record

func (r *records) Observe(e event.Record) { *r = append(*r, e) }

// In whatever order things happened, a replay that performs work at once comes to
// the same numbers: messages may be overtaken, lost and asked for again, and work
// be performed late.
func TestEveryOrderReplays(t *testing.T) {
	for _, mode := range modes() {
		for _, has := range []trouble{{}, {apart: true}, {lose: true}, {true, true}} {
			for seed := range seeds() {
				retry := unit.Tick(0)
				if has.lose {
					retry = 1
				}
				cfg, p := setup(t, mode, retry)
				w := record(t, cfg, p, seed, has)
				_, again := setup(t, mode, retry)
				var seen records
				report, err := w.recording(t, nil).Replay(again, &seen)
				if err != nil {
					t.Fatalf("%s, %+v, seed %d: %v", mode, has, seed, err)
				}
				if report.Roles != len(w.homes) || report.Steps != steps || len(seen) != len(w.observed) {
					t.Errorf("%s, seed %d: %+v, %d of %d records", mode, seed, report, len(seen), len(w.observed))
				}
				for _, h := range w.homes {
					if at := h.state.Address(); again.Digest(at) != p.Digest(at) {
						t.Errorf("%s, seed %d: %v has other parameters", mode, seed, at)
					}
				}
			}
		}
	}
}

// Events tells the same records, each role's in its order, though no clock agrees
// with another, and nothing before its cause; so the staleness that a PS showed
// comes out again.
func TestEventsRespectCauses(t *testing.T) {
	for _, mode := range modes() {
		for seed := range seeds() {
			cfg, p := setup(t, mode, 0)
			w := record(t, cfg, p, seed, trouble{apart: true})
			var seen records
			then, now := pace.NewMeter(2, 2), pace.NewMeter(2, 2)
			for _, e := range w.observed {
				then.Observe(e)
			}
			if _, err := w.recording(t, nil).Events(&seen, now); err != nil {
				t.Fatal(err)
			}
			was, is := then.Staleness(), now.Staleness()
			if fmt.Sprint(was.Own, was.Cross) != fmt.Sprint(is.Own, is.Cross) || is.Own.Count() == 0 {
				t.Errorf("%s, seed %d: own and cross %v %v, were %v %v", mode, seed, is.Own, is.Cross, was.Own, was.Cross)
			}
			checkOrder(t, seen, w.observed)
		}
	}
}

// checkOrder checks each role's own order, and a chain of causes for every batch.
func checkOrder(t *testing.T, got, want records) {
	t.Helper()
	byRole := func(rs records) string {
		slices.SortStableFunc(rs, func(a, b event.Record) int {
			if a.Role == b.Role {
				return 0
			}
			if a.Role.Less(b.Role) {
				return -1
			}
			return 1
		})
		return fmt.Sprint(rs)
	}
	chain := []event.Kind{event.BatchDispatched, event.LookupIssued, event.Pooled, event.ForwardStarted, event.BackwardStarted, event.DenseApplied}
	place := map[[3]int32]int{}
	for i, e := range got {
		place[[3]int32{int32(slices.Index(chain, e.Kind)), e.Rank, e.Step}] = i
	}
	for rank := range int32(2) {
		for step := range int32(steps) {
			last := -1
			for k := range chain {
				i, found := place[[3]int32{int32(k), rank, step}]
				if !found || i < last {
					t.Fatalf("rank %d step %d: %v comes before its cause, or not at all", rank, step, chain[k])
				}
				last = i
			}
		}
	}
	if byRole(slices.Clone(got)) != byRole(slices.Clone(want)) {
		t.Error("some role has other records, or another order")
	}
}

// With one clock, records come in the order of their times.
func TestEventsInTheOrderOfTimes(t *testing.T) {
	for _, mode := range modes() {
		cfg, p := setup(t, mode, 0)
		var seen records
		if _, err := record(t, cfg, p, 1, trouble{}).recording(t, nil).Events(&seen); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(seen, func(a, b event.Record) int { return int(a.At - b.At) }) {
			t.Errorf("%s: times out of order", mode)
		}
	}
}

// plant is a change of one recorded field, and what a replay says of it.
type plant struct {
	name string
	edit func(at msg.Address, number int, in *role.Input, payload *uint64, out []role.Output)
	want string // part of the difference
}

// plants change something of embedding PS 1, and nothing else.
func plants() []plant {
	done := false
	once := func(apply func(in *role.Input, payload *uint64, out []role.Output) bool) func(msg.Address, int, *role.Input, *uint64, []role.Output) {
		return func(at msg.Address, number int, in *role.Input, payload *uint64, out []role.Output) {
			if number == 1 {
				done = false
			}
			if at == (msg.Address{Role: msg.ParameterServer, Index: 1}) && !done && number > 10 {
				done = apply(in, payload, out)
			}
		}
	}
	output := func(kind role.OutputKind, change func(*role.Output)) func(msg.Address, int, *role.Input, *uint64, []role.Output) {
		return once(func(_ *role.Input, _ *uint64, out []role.Output) bool {
			i := slices.IndexFunc(out, func(o role.Output) bool { return o.Kind == kind })
			if i >= 0 {
				change(&out[i])
			}
			return i >= 0
		})
	}
	return []plant{
		{"a size", output(role.Send, func(o *role.Output) { o.Message.Bytes++ }), ".Message.Bytes: recorded "},
		{"a receiver", output(role.Send, func(o *role.Output) { o.Message.To.Index ^= 1 }), ".Message.To.Index: recorded "},
		{"a kind of event", output(role.Record, func(o *role.Output) { o.Event.Kind = event.PutRepeated }), ".Event.Kind: recorded put-repeated, replayed "},
		{"a kind of work", output(role.Do, func(o *role.Output) { o.Work.Kind = role.Pool }), ".Work.Kind: recorded pool, replayed "},
		{"a kind of output", output(role.Keep, func(o *role.Output) { o.Kind = role.Finished }), ".Kind: recorded "},
		{"a result", once(func(in *role.Input, _ *uint64, _ []role.Output) bool {
			rows := in.Kind == role.WorkDone && in.Work.Kind == role.ReadRows
			if rows {
				in.Result.Bytes++
			}
			return rows
		}), "(read-rows): input.Result.Bytes: recorded "},
		{"a work item", once(func(in *role.Input, _ *uint64, _ []role.Output) bool {
			if in.Kind == role.WorkDone {
				in.Work.Rank ^= 1
			}
			return in.Kind == role.WorkDone
		}), "input Work.Rank: recorded "},
		{"a message", once(func(in *role.Input, _ *uint64, _ []role.Output) bool {
			if in.Kind == role.Received {
				in.Message.Samples++
			}
			return in.Kind == role.Received
		}), "input Message.Samples: recorded "},
		{"a message that nobody sent", once(func(in *role.Input, _ *uint64, _ []role.Output) bool {
			if in.Kind == role.Received {
				in.Message.Step = steps
			}
			return in.Kind == role.Received
		}), "replayed nobody sent it"},
		{"a payload", once(func(in *role.Input, payload *uint64, _ []role.Output) bool {
			if in.Kind == role.Received {
				*payload++
			}
			return in.Kind == role.Received
		}), ": payload: recorded "},
	}
}

// Whatever is changed in a recording whose sums are right is found, and named by
// role, step and field.
func TestPlantedDifferencesAreNamed(t *testing.T) {
	for _, mode := range modes() {
		cfg, p := setup(t, mode, 0)
		w := record(t, cfg, p, 3, trouble{apart: true})
		for _, plant := range plants() {
			_, again := setup(t, mode, 0)
			_, err := w.recording(t, plant.edit).Replay(again)
			var d *Difference
			if !errors.As(err, &d) || d.Role != (msg.Address{Role: msg.ParameterServer, Index: 1}) || d.Input == 0 ||
				!strings.Contains(err.Error(), plant.want) || !strings.HasPrefix(err.Error(), "embedding PS 1, ") {
				t.Errorf("%s: %s: %v, want %q", mode, plant.name, err, plant.want)
			}
		}
	}
}

// nudge moves one weight of the dense network by one unit in the last place,
// once rank 0 has stepped it for a step.
type nudge struct {
	step    int32
	weights []float32
}

func (n nudge) Observe(e event.Record) {
	if e.Kind == event.DenseApplied && e.Rank == 0 && e.Step == n.step {
		n.weights[0] = math.Float32frombits(math.Float32bits(n.weights[0]) + 1)
	}
}

// A computation that differs in the last bit is found: at the gradients of the
// next step, where they are handed over, or, after the last step, at the end.
func TestOneBitOfAWeightIsFound(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		cfg, p := setup(t, mode, 0)
		w := record(t, cfg, p, 4, trouble{apart: true})
		for _, step := range []int32{0, 4, steps - 1} {
			_, again := setup(t, mode, 0)
			_, err := w.recording(t, nil).Replay(again, nudge{step, again.Dense().Params})
			var d *Difference
			if !errors.As(err, &d) {
				t.Fatalf("%s: %v", mode, err)
			}
			if step == steps-1 {
				if d.Field != "parameters at the end" || d.Role.Role != msg.NNWorker {
					t.Errorf("%s: %v", mode, err)
				}
			} else if d.Step <= step || d.Field != "payload" {
				t.Errorf("%s: weight of step %d: %v", mode, step, err)
			}
		}
	}
}

// Streams that are not one whole run are refused before anything is replayed.
func TestStreamsOfOneRun(t *testing.T) {
	cfg, p := setup(t, job.Sync, 0)
	w := record(t, cfg, p, 5, trouble{apart: true})
	all := func() []*Reader { return w.recording(t, nil).readers }
	other := func(change func(*Header)) *Reader {
		r := all()[0]
		change(&r.header)
		return r
	}
	for _, c := range []struct {
		readers []*Reader
		want    string
	}{
		{nil, "there is no stream"},
		{all()[1:], "data loader 0 has no stream"},
		{all()[:6], "NN worker 1 has no stream"},
		{append(all(), all()[2]), "embedding worker 1 and embedding worker 1 both are of embedding worker 1"},
		{append(all()[1:], other(func(h *Header) { h.Job = []byte("another") })), "are of different jobs"},
		{append(all()[1:], other(func(h *Header) { h.Config.Steps++ })), "are of different jobs"},
		{append(all(), other(func(h *Header) { h.Role.Index = 7 })), "is of data loader 7, which the job does not have"},
	} {
		if _, err := New(cfg.Rule, c.readers); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

package replay

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

var long = flag.Bool("long", false, "replay more seeds")

func seeds() uint64 {
	switch {
	case *long:
		return 100
	case testing.Short():
		return 1
	}
	return 5
}

// modes returns the modes that have roles.
func modes() []string {
	return slices.DeleteFunc(job.Modes(), func(mode string) bool { return mode == job.Sequential })
}

// records keeps every record in the order of its arrival.
type records []event.Record

func (r *records) Observe(e event.Record) { *r = append(*r, e) }

// troubles are the faults that replays must survive, without and with clocks that differ.
func troubles() (all []trouble) {
	for _, has := range []trouble{{}, {lose: true}, {twice: true}, {crash: true},
		{lose: true, twice: true, crash: true}} {
		apart := has
		apart.apart = true
		all = append(all, has, apart)
	}
	return all
}

// A replay that performs work at once comes to the same values in any order of events: messages may be
// overtaken, lost, repeated and asked for again, roles may crash, and work may be performed late.
func TestEveryOrderReplays(t *testing.T) {
	lost, repeated, crashed := 0, 0, map[msg.Role]int{}
	for _, mode := range modes() {
		for _, has := range troubles() {
			for seed := range seeds() {
				cfg, p := setup(t, mode, has.retry())
				w := record(t, cfg, p, seed, has)
				lost, repeated = lost+w.lost, repeated+w.repeated
				for _, r := range w.crashed {
					crashed[r]++
				}
				_, again := setup(t, mode, has.retry())
				var seen records
				report, err := w.recording(t).Replay(again, &seen)
				if err != nil {
					t.Fatalf("%s, %+v, seed %d: %v", mode, has, seed, err)
				}
				if report.Roles != len(w.homes) || report.Steps != steps || len(seen) != len(w.observed) {
					t.Errorf("%s, %+v, seed %d: %+v, %d of %d records", mode, has, seed, report, len(seen),
						len(w.observed))
				}
				for _, h := range w.homes {
					if at := h.state.Address(); again.Model().Digest(at) != p.Model().Digest(at) {
						t.Errorf("%s, %+v, seed %d: %v has other parameters", mode, has, seed, at)
					}
				}
			}
		}
	}
	if lost == 0 || repeated == 0 || len(crashed) < 3 {
		t.Errorf("%d messages lost, %d repeated, crashes %v: want more faults", lost, repeated,
			crashed)
	}
}

// Events yields the same records, in each role's order and never before their causes, although all clocks
// differ; so the measured staleness of a PS is the same.
func TestEventsRespectCauses(t *testing.T) {
	for _, mode := range modes() {
		for i, has := range slices.Repeat([]trouble{{apart: true},
			{lose: true, twice: true, crash: true, apart: true}}, int(seeds())) {
			seed := uint64(i)
			cfg, p := setup(t, mode, has.retry())
			w := record(t, cfg, p, seed, has)
			var seen records
			then, now := pace.NewMeter(2, 2), pace.NewMeter(2, 2)
			for _, e := range w.observed {
				then.Observe(e)
			}
			if _, err := w.recording(t).Events(&seen, now); err != nil {
				t.Fatal(err)
			}
			was, is := then.Staleness(), now.Staleness()
			same := fmt.Sprint(was.Own, was.Cross) == fmt.Sprint(is.Own, is.Cross)
			if !same || is.Own.Count() == 0 {
				t.Errorf("%s, %+v, seed %d: own and cross %v %v, were %v %v", mode, has, seed, is.Own,
					is.Cross, was.Own, was.Cross)
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
	chain := []event.Kind{event.BatchDispatched, event.LookupIssued, event.Pooled, event.ForwardStarted,
		event.BackwardStarted, event.DenseApplied}
	place, dropped := map[[3]int32]int{}, map[[2]int32]bool{}
	for i, e := range got {
		if e.Kind == event.BatchDropped {
			dropped[[2]int32{e.Rank, e.Step}] = true
		}
		what := [3]int32{int32(slices.Index(chain, e.Kind)), e.Rank, e.Step}
		if _, again := place[what]; !again { // a role that was away does some things twice
			place[what] = i
		}
	}
	for rank := range int32(2) {
		for step := range int32(steps) {
			last := -1
			for k := range chain {
				if dropped[[2]int32{rank, step}] {
					break // it may have been passed over
				}
				i, found := place[[3]int32{int32(k), rank, step}]
				if !found || i < last {
					t.Fatalf("rank %d step %d: %v comes before its cause, or not at all", rank, step,
						chain[k])
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
		if _, err := record(t, cfg, p, 1, trouble{}).recording(t).Events(&seen); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(seen, func(a, b event.Record) int { return int(a.At - b.At) }) {
			t.Errorf("%s: times out of order", mode)
		}
	}
}

// plant is a change of one recorded field of a role, and the error of a replay.
type plant struct {
	name   string
	change func(e *entry) bool // reports whether it has changed something
	want   string              // part of the difference
}

// inOutput changes the first output of a kind.
func inOutput(kind role.OutputKind, change func(*role.Output)) func(*entry) bool {
	return func(e *entry) bool {
		i := slices.IndexFunc(e.out, func(o role.Output) bool { return o.Kind == kind })
		if i >= 0 {
			change(&e.out[i])
		}
		return i >= 0
	}
}

// inInput changes an input of a kind.
func inInput(kind role.InputKind, change func(*entry)) func(*entry) bool {
	return func(e *entry) bool {
		matches := e.in.Kind == kind
		if matches {
			change(e)
		}
		return matches
	}
}

// plants are changes of an embedding PS.
var plants = []plant{
	{"a size", inOutput(role.Send, func(o *role.Output) { o.Message.Bytes++ }), ".Message.Bytes: recorded "},
	{"a receiver", inOutput(role.Send, func(o *role.Output) { o.Message.To.Index ^= 1 }),
		".Message.To.Index: recorded "},
	{"a kind of event", inOutput(role.Record, func(o *role.Output) { o.Event.Kind = event.PutRepeated }),
		".Event.Kind: recorded put-repeated, replayed "},
	{"a kind of work", inOutput(role.Do, func(o *role.Output) { o.Work.Kind = role.Pool }),
		".Work.Kind: recorded pool, replayed "},
	{"a kind of output", inOutput(role.Keep, func(o *role.Output) { o.Kind = role.Finished }),
		".Kind: recorded "},
	{"a result", func(e *entry) bool {
		rows := e.in.Kind == role.WorkDone && e.in.Work.Kind == role.ReadRows
		if rows {
			e.in.Result.Bytes++
		}
		return rows
	}, "(read-rows): input.Result.Bytes: recorded "},
	{"a work item", inInput(role.WorkDone, func(e *entry) { e.in.Work.Step ^= 1 }),
		"input.Work.Step: recorded "},
	{"a message", inInput(role.Received, func(e *entry) { e.in.Message.Samples++ }),
		"input.Message.Samples: recorded "},
	{"a message that no role sent", inInput(role.Received, func(e *entry) { e.in.Message.Step = steps }),
		"replayed no role sent it"},
	{"a payload", inInput(role.Received, func(e *entry) { e.payload++ }), ": payload: recorded "},
	{"a timer", inInput(role.Received, func(e *entry) { *e.in = role.Input{Kind: role.TimerFired} }),
		"(timer): input: recorded it came, replayed no timer is set"},
}

// checkPlant plants a change into the stream of a role, after its start, and checks that a replay names
// the role, the step and the field.
func checkPlant(t *testing.T, w *world, again *exec.Executor, at msg.Address, plant plant) {
	t.Helper()
	done := false
	input, step := uint64(0), int32(-1) // of the change
	recording := w.edited(t, at, func(e *entry) {
		if e.number == 1 || done {
			return
		}
		if done = plant.change(e); !done {
			return
		}
		switch input = uint64(e.number); e.in.Kind {
		case role.Received:
			step = e.in.Message.Step
		case role.WorkPart, role.WorkDone, role.WorkFailed, role.BucketReduced:
			step = e.in.Work.Step
		}
	})
	if !done {
		t.Errorf("%s: not planted", plant.name)
		return
	}
	_, err := recording.Replay(again)
	var d *Difference
	if !errors.As(err, &d) || d.Role != at || d.Input != input || d.Step != step ||
		!strings.Contains(err.Error(), plant.want) ||
		!strings.HasPrefix(err.Error(), at.String()+", ") {
		t.Errorf("%s, %+v, %s: %v, want %q at input %d about step %d", w.cfg.Rule, w.trouble, plant.name, err,
			plant.want, input, step)
	}
}

// A replay finds any change of a recording whose checksums are right, and names the role, step and field.
func TestPlantedDifferencesAreNamed(t *testing.T) {
	rows := plant{"rows", func(e *entry) bool {
		found := e.in.Kind == role.Received && e.in.Message.Kind == msg.Rows && e.in.Message.Step > 2
		if found {
			e.payload++
		}
		return found
	}, ": payload: recorded "}
	bucket := plant{"a reduced bucket", func(e *entry) bool {
		found := e.in.Kind == role.BucketReduced && e.in.Work.Step > 2
		if found {
			e.in.Work.Step++
		}
		return found
	}, " reduced): input.Work.Step: recorded "}
	for _, mode := range modes() {
		for _, has := range []trouble{{apart: true}, {lose: true, twice: true, crash: true, apart: true}} {
			for seed := range 1 + seeds()/10 {
				cfg, p := setup(t, mode, has.retry())
				w := record(t, cfg, p, seed, has)
				for _, plant := range plants {
					_, again := setup(t, mode, has.retry())
					checkPlant(t, w, again, msg.Address{Role: msg.EmbeddingPS, Index: 1}, plant)
				}
				_, again := setup(t, mode, has.retry())
				checkPlant(t, w, again, msg.Address{Role: msg.EmbeddingWorker, Index: 1}, rows)
				if mode == job.Sync {
					_, again := setup(t, mode, has.retry())
					checkPlant(t, w, again, msg.Address{Role: msg.NNWorker, Index: 1}, bucket)
				}
			}
		}
	}
}

// Recorded timers and crashes are checked, too.
func TestPlantedFaultsAreNamed(t *testing.T) {
	worker := msg.Address{Role: msg.EmbeddingWorker}
	loader := msg.Address{Role: msg.DataLoader}
	for _, mode := range modes() {
		has := trouble{lose: true, twice: true, crash: true}
		var w *world
		again := func() *exec.Executor {
			_, p := setup(t, mode, has.retry())
			return p
		}
		for seed := uint64(0); w == nil || !slices.Contains(w.crashed, msg.EmbeddingWorker); seed++ {
			cfg, p := setup(t, mode, has.retry())
			w = record(t, cfg, p, seed, has)
		}
		for _, h := range w.homes {
			if h.state.Address().Role == msg.EmbeddingWorker && h.incarnation > 0 {
				worker = h.state.Address()
			}
		}
		for at, plants := range map[msg.Address][]plant{
			worker: {
				{"another incarnation", inInput(role.Start, func(e *entry) { e.in.Incarnation++ }),
					"(start): input.Incarnation: recorded "},
				{"no incarnation", inInput(role.Start, func(e *entry) { e.in.Incarnation = 0 }),
					"(start): input.Incarnation: recorded 0, replayed "},
				{"a crash that no other role has seen", func(e *entry) bool {
					*e.in = role.Input{Kind: role.Start, Incarnation: 7}
					return true
				}, "(start): input.Incarnation: recorded 7, replayed "},
			},
			loader: {
				{"a timer that fires early", inInput(role.TimerFired, func(e *entry) { e.now -= retry }),
					"(timer): now: recorded "},
				{"a timer that is not set",
					inOutput(role.SetTimer, func(o *role.Output) { o.Kind = role.Finished }),
					": outputs["},
				{"another time", inOutput(role.SetTimer, func(o *role.Output) { o.At++ }), ".At: recorded "},
				{"a timer that fires twice",
					inInput(role.Received, func(e *entry) { *e.in = role.Input{Kind: role.TimerFired} }),
					"(timer): now: recorded "},
			},
		} {
			for _, plant := range plants {
				checkPlant(t, w, again(), at, plant)
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

// A difference in the last bit of a computation is found: in the gradients of the next step or, after the
// last step, at the end.
func TestOneBitOfAWeightIsFound(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		for _, has := range []trouble{{apart: true}, {lose: true, twice: true, crash: true}} {
			cfg, p := setup(t, mode, has.retry())
			w := record(t, cfg, p, 4, has)
			for _, step := range []int32{0, 4, steps - 1} {
				_, again := setup(t, mode, has.retry())
				weights := again.Model().Weights(msg.Address{Role: msg.NNWorker}).(*model.HostReplica)
				_, err := w.recording(t).Replay(again, nudge{step, weights.Host().Params})
				var d *Difference
				if !errors.As(err, &d) {
					t.Fatalf("%s, %+v: %v", mode, has, err)
				}
				if step == steps-1 {
					if d.Field != "parameters at the end" || d.Role.Role != msg.NNWorker {
						t.Errorf("%s, %+v: %v", mode, has, err)
					}
				} else if d.Step <= step || d.Field != "payload" {
					t.Errorf("%s, %+v: weight of step %d: %v", mode, has, step, err)
				}
			}
		}
	}
}

// Streams that are not one whole run are refused before anything is replayed.
func TestStreamsOfOneRun(t *testing.T) {
	cfg, p := setup(t, job.Sync, 0)
	w := record(t, cfg, p, 5, trouble{apart: true})
	all := func() []*Reader { return w.recording(t).readers }
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
		{all()[1:], "data-loader 0 has no stream"},
		{all()[:6], "nn-worker 1 has no stream"},
		{append(all(), all()[2]), "embedding-worker 1 and embedding-worker 1 both are of embedding-worker 1"},
		{append(all()[1:], other(func(h *Header) { h.Job = []byte("another") })), "are of different jobs"},
		{append(all()[1:], other(func(h *Header) { h.Config.Steps++ })), "are of different jobs"},
		{append(all(), other(func(h *Header) { h.Role.Index = 7 })),
			"is of data-loader 7, which the job does not have"},
	} {
		if _, err := New(cfg.Rule, c.readers); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// withDigest returns a stream whose role ended with other parameters.
func withDigest(t *testing.T, stream []byte) (*Reader, uint64) {
	t.Helper()
	all, r, err := read(stream)
	if err != nil {
		t.Fatal(err)
	}
	var changed bytes.Buffer
	w, err := NewWriter(&changed, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := w.add(s.Now, &s.Input, s.Payload, s.outputs); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(r.end.Digest ^ 1); err != nil {
		t.Fatal(err)
	}
	again, err := NewReader(bytes.NewReader(changed.Bytes()), r.name)
	if err != nil {
		t.Fatal(err)
	}
	return again, r.end.Digest
}

// The parameters of every role are compared at the end: rows of each embedding PS, the network of each rank
// and the shard of each dense PS.
func TestParametersOfEveryRoleAreCompared(t *testing.T) {
	for _, mode := range modes() {
		cfg, p := setup(t, mode, 0)
		w := record(t, cfg, p, 1, trouble{})
		for i, h := range w.homes {
			at := h.state.Address()
			recording := w.recording(t)
			var digest uint64
			recording.readers[i], digest = withDigest(t, h.stream.Bytes())
			_, again := setup(t, mode, 0)
			_, err := recording.Replay(again)
			want := fmt.Sprintf("%v, step %d: parameters at the end: recorded %016x, replayed %016x", at,
				steps-1, digest^1, digest)
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", mode, err, want)
			}
			holds := at.Role == msg.EmbeddingPS || at.Role == msg.NNWorker || at.Role == msg.DensePS
			if holds != (digest != 0) {
				t.Errorf("%s: %v ended with digest %016x", mode, at, digest)
			}
		}
	}
}

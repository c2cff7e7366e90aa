package record

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/frequent"
	"tandem/algo/exec/replay"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/rng"
	"tandem/runtime/train"
)

// rows are random samples: one slot of one id, one of up to three, and a numeric
// feature.
type rows struct {
	all  *batch.Batch
	size int
}

func (r rows) Schema() *batch.Schema {
	return &batch.Schema{
		Slots: []batch.Slot{{Name: "user", Dim: 4}, {Name: "tags", Dim: 4}},
		Dense: []string{"age"}, Labels: []string{"click"}, PrefixBits: 8,
	}
}
func (r rows) Steps() int           { return r.all.Samples / r.size }
func (r rows) Samples(step int) int { return r.size }
func (r rows) Read(step int) (*batch.Batch, error) {
	return batch.Slice(r.all, step*r.size, (step+1)*r.size), nil
}

func newRows(steps, size int, seed uint64) rows {
	draw := rng.New(seed, "rows")
	b := &batch.Batch{Samples: steps * size,
		Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}
	for i := range b.Samples {
		for s, n := range []int{1, draw.IntN(4)} {
			slot := &b.Slots[s]
			for range n {
				slot.IDs = append(slot.IDs, draw.Uint64N(40))
			}
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		b.Dense = append(b.Dense, float32(draw.NormFloat64()))
		b.Labels = append(b.Labels, float32((i+draw.IntN(2))%2))
	}
	return rows{b, size}
}

// small is a network with batch norm on 4 ranks, 2 EWs, 2 PSs and 2 dense PSs.
func small(mode string, seed uint64) job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.GlobalBatch, t.Training.Prefetch, t.Training.Seed = mode, 32, 4, seed
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{8, 4},
		Activation: model.ReLU, BatchNorm: true}
	t.Model.Optimizer.Rate, t.Roles.DensePSs, t.Training.ModeSettings = 0.01, 2, map[string]int{"every": 3}
	return t.InMode(mode)
}

// mustRecord trains and returns the folder of the recording.
func mustRecord(t testing.TB, training job.Job, source rows) (string, *train.Result) {
	t.Helper()
	text, err := yaml.Marshal(training.Resolved())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	f, err := Create(folder, text)
	if err != nil {
		t.Fatal(err)
	}
	result, err := train.Run(t.Context(), training, source, source.all, train.Options{Recorder: f})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return folder, result
}

// mustLoad opens a recording of one part for one replay.
func mustLoad(t testing.TB, folder string) (*replay.Recording, job.Job) {
	t.Helper()
	return mustLoadPart(t, folder, 0)
}

// mustLoadPart opens a part of a recording for one replay.
func mustLoadPart(t testing.TB, folder string, first int) (*replay.Recording, job.Job) {
	t.Helper()
	files, err := Load(folder, first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(files.Close)
	training := job.Default()
	if err := job.Decode(files.Readers[0].Header().Job, "recorded", &training); err != nil {
		t.Fatal(err)
	}
	rule, err := training.Rule()
	if err != nil {
		t.Fatal(err)
	}
	recording, err := replay.New(rule, files.Readers)
	if err != nil {
		t.Fatal(err)
	}
	return recording, training
}

// mustReplay replays a recording, with all its parts, and returns the staleness that it shows.
func mustReplay(t testing.TB, folder string, source rows) (replay.Report, *exec.Executor, pace.Staleness) {
	t.Helper()
	parts, err := Parts(folder)
	if err != nil {
		t.Fatal(err)
	}
	var whole replay.Report
	var p *exec.Executor
	var staleness pace.Staleness
	for _, first := range parts {
		recording, training := mustLoadPart(t, folder, first)
		if err := frequent.ChooseAgain(&training, source, first); err != nil {
			t.Fatal(err)
		}
		if p == nil {
			p, err = exec.New(training, source, backend.Backend{})
		} else {
			err = p.SetHot(training.Rows.Hot.Rows())
		}
		if err != nil {
			t.Fatal(err)
		}
		p.BeginAt(first)
		meter := pace.NewMeter(training.Roles.Ranks, training.Roles.EmbeddingPSs)
		report, err := recording.Replay(p, meter)
		if err != nil {
			t.Fatalf("%s, seed %d, from step %d: %v", training.Training.Mode, training.Training.Seed, first,
				err)
		}
		if first != whole.Steps {
			t.Fatalf("a part begins at step %d, after %d steps", first, whole.Steps)
		}
		whole.Roles, whole.Inputs, whole.Steps = report.Roles, whole.Inputs+report.Inputs,
			whole.Steps+report.Steps
		whole.Span += report.Span
		of := meter.Staleness()
		staleness.Merge(&of)
	}
	return whole, p, staleness
}

var long = flag.Bool("long", false, "replay more seeds, and 500 random runs with faults")

// A run in any mode with roles replays bit for bit, for any order in which its goroutines ran, and shows the
// staleness of its reads.
func TestRunsReplayBitForBit(t *testing.T) {
	seeds := uint64(4)
	if *long {
		seeds = 20
	}
	for _, mode := range pace.Modes() {
		for seed := range seeds {
			source := newRows(20, 32, seed)
			training := small(mode, seed)
			training.Roles.Ranks = anyRanks(t, mode, []int{4, 3, 6, 1}[seed%4])
			if training.Rows.Hot.Share = 0.02 * float64(seed%2); training.Validate() != nil {
				training.Rows.Hot.Share = 0 // not in this mode
			}
			if training.Rows.Hot.Any() {
				training.Rows.Hot.Every = int(seed+1) % 8 // 2 or 4 steps, 6, 0
			}
			folder, result := mustRecord(t, training, source)
			checkReplay(t, folder, source, result)
		}
	}
}

// anyRanks returns a number of ranks if it suits a mode, else the next power of two.
func anyRanks(t testing.TB, mode string, ranks int) int {
	t.Helper()
	training := small(mode, 1)
	rule, err := training.Rule()
	if err != nil {
		t.Fatal(err)
	}
	for rule.Exact() && ranks&(ranks-1) != 0 {
		ranks++
	}
	return ranks
}

// checkReplay replays a recording and checks that its results equal those of the run.
func checkReplay(t *testing.T, folder string, source rows, result *train.Result) {
	t.Helper()
	mode, seed := result.Job.Training.Mode, result.Job.Training.Seed
	report, p, staleness := mustReplay(t, folder, source)
	if report.Roles < 4 || report.Steps != source.Steps() || report.Span <= 0 {
		t.Errorf("%s, seed %d: %+v", mode, seed, report)
	}
	rowsDigest := uint64(0)
	for _, rows := range p.Model().Tables() {
		rowsDigest += rows.Digest()
	}
	if rowsDigest != result.RowsDigest || p.Model().DenseDigest() != result.DenseDigest {
		t.Errorf("%s, seed %d: other parameters", mode, seed)
	}
	was := result.Staleness
	if fmt.Sprint(staleness.Own, staleness.Cross, staleness.Dense) != fmt.Sprint(was.Own, was.Cross,
		was.Dense) || staleness.Inflight.Count() != was.Inflight.Count() {
		t.Errorf("%s, seed %d: staleness %+v, was %+v", mode, seed, staleness, was)
	}
	if missed, _ := p.Model().Missed(); fmt.Sprint(missed) != fmt.Sprint(result.MissedUpdates) {
		t.Errorf("%s, seed %d: missed updates %v, were %v", mode, seed, missed, result.MissedUpdates)
	}
}

// A recording whose hot rows were chosen on the way has a part for every choice, in which rows have moved.
func TestPartsOfARecording(t *testing.T) {
	source := newRows(10, 32, 1)
	training := small(job.Hybrid, 1)
	training.Rows.Hot = job.Hot{Share: 0.02, Most: 5, Every: 4}
	folder, result := mustRecord(t, training, source)
	parts, err := Parts(folder)
	if err != nil || !slices.Equal(parts, []int{0, 4, 8}) || result.HotChoices[0].Promoted == 0 {
		t.Errorf("parts %v, %v; choices %+v", parts, err, result.HotChoices)
	}
	names, _ := filepath.Glob(filepath.Join(folder, "embedding-ps-0*"))
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	want := []string{"embedding-ps-0.from-step-4.recording", "embedding-ps-0.from-step-8.recording",
		"embedding-ps-0.recording"}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	all, _ := filepath.Glob(filepath.Join(folder, "*"+extension))
	for _, name := range all {
		if partOf(name) > 0 {
			continue
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Parts(folder); err == nil || !strings.Contains(err.Error(), "begins at step 4") {
		t.Errorf("without the first part: %v", err)
	}
}

// A replay with other data than the run's fails, and the error says where.
func TestOtherDataAreFound(t *testing.T) {
	source := newRows(10, 32, 1)
	folder, _ := mustRecord(t, small(job.Hybrid, 1), source)
	source.all.Labels[5*32] = 1 - source.all.Labels[5*32]
	recording, training := mustLoad(t, folder)
	p, err := exec.New(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "nn-worker 0, step 5, "
	if _, err := recording.Replay(p); err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.Contains(err.Error(), "(Samples from data-loader 0): payload: ") {
		t.Errorf("%v, want %s", err, want)
	}
}

// A recording ends with the hot rows that every rank holds: a replay in which one has another value at the
// end fails.
func TestHotRowsAtTheEndAreCompared(t *testing.T) {
	source, training := newRows(10, 32, 1), small(job.Hybrid, 1)
	training.Rows.Hot.Share = 0.02
	folder, _ := mustRecord(t, training, source)
	recording, training := mustLoad(t, folder)
	if err := frequent.Choose(&training, source, 0); err != nil {
		t.Fatal(err)
	}
	p, err := exec.New(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	hot := p.Model().State().Tables(training.Roles.EmbeddingPSs)[0]
	ends := 0
	_, err = recording.Replay(p, observer(func(e event.Record) {
		if e.Kind != event.DenseApplied || int(e.Step) < source.Steps()-1 {
			return
		}
		if ends++; ends == training.Roles.Ranks {
			hot.Apply(training.Rows.Hot.Rows().Signs()[:1], []float32{1, 1, 1, 1}, 1, nil)
		}
	}))
	var difference *replay.Difference
	if !errors.As(err, &difference) || difference.Field != "parameters at the end" ||
		difference.Role.Role != msg.NNWorker {
		t.Errorf("%v, after %d ends of ranks", err, ends)
	}
}

// observer is a function that receives every record.
type observer func(event.Record)

func (o observer) Observe(e event.Record) { o(e) }

// The folders of several processes are one recording when they are put together, and no recording before.
func TestFoldersOfSeveralProcesses(t *testing.T) {
	source := newRows(5, 32, 1)
	folder, _ := mustRecord(t, small(job.Sync, 1), source)
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(names) != 9 {
		t.Fatal(names, err)
	}
	other := t.TempDir()
	for _, name := range names[:4] {
		if err := os.Rename(name, filepath.Join(other, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Load(other, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	training := small(job.Sync, 1)
	rule, err := training.Rule()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replay.New(rule, files.Readers); err == nil ||
		!strings.Contains(err.Error(), "embedding-worker 1 has no stream: put those of all processes") {
		t.Error(err)
	}
	for _, name := range names[4:] {
		if err := os.Rename(name, filepath.Join(other, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	mustReplay(t, other, source)
}

// A run that fails leaves files that are cut short.
func TestFailedRunIsCutShort(t *testing.T) {
	source := newRows(10, 32, 1)
	source.all.Dense[200] = float32(math.NaN())
	folder := t.TempDir()
	f, err := Create(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(t.Context(), small(job.Sync, 1), source, source.all,
		train.Options{Recorder: f}); err == nil {
		t.Fatal("no failure")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Load(folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, r := range files.Readers {
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, replay.ErrCutShort) || !strings.Contains(err.Error(), extension+": ") {
			t.Error(err)
		}
		err = nil
	}
}

// A process that is killed loses the end of its recording. A replay says so at once, and names the process.
func TestKilledProcessIsNamed(t *testing.T) {
	source := newRows(10, 32, 1)
	folder, _ := mustRecord(t, small(job.Hybrid, 1), source)
	name := filepath.Join(folder, "embedding-worker-1"+extension)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{len(text) - 1, len(text) / 2} {
		if err := os.WriteFile(name, text[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		var first records
		recording, _ := mustLoad(t, folder)
		_, err := recording.Events(&first)
		const want = "embedding-worker-1.recording: the recording is cut short: embedding-worker 1 has no " +
			"end mark after its "
		if !errors.Is(err, replay.ErrCutShort) || !strings.HasPrefix(err.Error(), want) || first > 0 {
			t.Errorf("%d of %d bytes: %v after %d records, want %s", size, len(text), err, first, want)
		}
	}
	if err := os.WriteFile(name, text[:30], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(folder, 0); !errors.Is(err, replay.ErrCutShort) ||
		!strings.Contains(err.Error(), "embedding-worker-1.recording: ") {
		t.Error(err)
	}
}

// records counts records.
type records int

func (r *records) Observe(event.Record) { *r++ }

// A process that comes back after its death does not touch the recording of its former incarnation. What
// cannot be joined to that is refused by name: the recording of a PS, and one that follows an end.
func TestLaterIncarnationsAreChecked(t *testing.T) {
	source := newRows(5, 32, 1)
	training := small(job.Hybrid, 1)
	worker := msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	for _, c := range []struct {
		at      msg.Address
		without bool // the stream of the process that was killed
		reason  error
		want    string
	}{
		{msg.Address{Role: msg.EmbeddingPS}, false, replay.ErrCutShort,
			"embedding-ps 0 begins as incarnation 1, and only a data loader, embedding worker or " +
				"coordinator can be replayed whose process was killed"},
		{worker, true, replay.ErrCutShort,
			"embedding-worker 1 begins as incarnation 1; put the stream of the process that was killed"},
		{worker, false, replay.ErrDamaged, "it has an end, and the role came back"},
	} {
		folder, _ := mustRecord(t, training, source)
		files, err := Load(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		header := files.Readers[0].Header()
		files.Close()
		f, err := Create(folder, header.Job)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(c.at, 0, &header.Config); !errors.Is(err, fs.ErrExist) {
			t.Errorf("the recording of the first process: %v", err)
		}
		log, err := f.Open(c.at, 1, &header.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(log.Finish(0), f.Close()); err != nil {
			t.Fatal(err)
		}
		if c.without {
			name := fmt.Sprintf("%v-%d%s", c.at.Role, c.at.Index, extension)
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
		if files, err = Load(folder, 0); err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		rule, err := training.Rule()
		if err != nil {
			t.Fatal(err)
		}
		recording, err := replay.New(rule, files.Readers)
		if err == nil {
			_, err = recording.Events()
		}
		name := fmt.Sprintf("%v-%d.incarnation-1%s: ", c.at.Role, c.at.Index, extension)
		if !errors.Is(err, c.reason) || !strings.HasPrefix(err.Error(), name) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s%s", err, name, c.want)
		}
	}
}

// A recording is never overwritten, and a folder without one causes an error that says so.
func TestFoldersAreChecked(t *testing.T) {
	source := newRows(2, 32, 1)
	folder, _ := mustRecord(t, small(job.Sync, 1), source)
	f, err := Create(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := train.Run(t.Context(), small(job.Sync, 1), source, source.all,
		train.Options{Recorder: f}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	empty := t.TempDir()
	if _, err := Load(empty, 0); !errors.Is(err, errNoRecording) {
		t.Error(err)
	}
	if _, err := Find(empty); !errors.Is(err, errNoRecording) {
		t.Error(err)
	}
	if _, err := Find(filepath.Join(empty, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, above := range []string{folder, filepath.Dir(folder)} {
		if found, err := Find(above); err != nil || !slices.Contains(found, folder) {
			t.Errorf("below %s: %v, %v", above, found, err)
		}
	}
}

// BenchmarkRun measures what recording costs: compare the two in one session. The network is small, so
// that there is almost nothing beside the roles.
func BenchmarkRun(b *testing.B) {
	source := newRows(100, 128, 1)
	training := small(job.Hybrid, 1)
	training.Training.GlobalBatch = 128
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%v", recorded), func(b *testing.B) {
			var bytes int64
			for b.Loop() {
				if !recorded {
					if _, err := train.Run(b.Context(), training, source, source.all,
						train.Options{}); err != nil {
						b.Fatal(err)
					}
					continue
				}
				folder, _ := mustRecord(b, training, source)
				files, err := Load(folder, 0)
				if err != nil {
					b.Fatal(err)
				}
				bytes = files.Bytes
				files.Close()
			}
			b.ReportMetric(float64(bytes)/float64(source.Steps()), "bytes/step")
			b.ReportMetric(float64(b.N*source.Steps())/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

package inference_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/modeltest"
	"tandem/runtime/inference"
)

// trained returns a trained model of clicks, and the path of its table.
func trained(t testing.TB, change func(*job.Job)) (m *inference.Model, path string) {
	t.Helper()
	text, table := clicks(1200)
	path = filepath.Join(t.TempDir(), "clicks.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Data = job.Data{Kind: job.KindCSV, Path: path, CSV: table, Cache: job.CacheOff}
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Model.EmbeddingDim, j.Model.Top, j.Training.GlobalBatch = 4, []int{8}, 64
	j.Model.Heads = make([]model.Head, 2)
	change(&j)
	folder, _ := modeltest.Train(t, j)
	m, err := inference.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return m, path
}

// read returns the rows of a file.
func read(t testing.TB, m *inference.Model, path string) (all *batch.Batch) {
	t.Helper()
	if err := datasets.ReadFeatures(m.Data(), m.Scaling(), path, func(b *batch.Batch, _ float64) error {
		all = b
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// Requests of every size, which are computed together in many ways, have the bits of a prediction of the
// whole file, and all are predicted. The first of two tags has a weight; some requests say nothing of weights
// where all are 1.
func TestRequestsTogether(t *testing.T) {
	m, path := trained(t, func(j *job.Job) {
		text, err := os.ReadFile(j.Data.Path)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`,t(\d)\|`).ReplaceAll(text, []byte(",t$1:1.$1|"))
		if err := os.WriteFile(j.Data.Path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		j.Data.CSV.Slots[1].WeightSeparator = ":"
	})
	defer m.Close()
	rows := read(t, m, path)
	if !slices.Equal(rows.Slots[1].Weights[:6], []float32{1, 1, 1.1, 1, 1.2, 1}) {
		t.Fatalf("weights %v …", rows.Slots[1].Weights[:6])
	}
	want, err := m.Predict(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 7, 1024} {
		var requests, largest, predicted atomic.Int64
		sent := make(chan struct{}) // closed when all requests wait, are computed or are next
		q := inference.NewQueue(m, inference.QueueLimits{Rows: limit, Waiting: 1000,
			Computed: func(n, rows int) {
				requests.Add(int64(n))
				predicted.Add(int64(rows))
				for old := largest.Load(); int64(n) > old && !largest.CompareAndSwap(old, int64(n)); {
					old = largest.Load()
				}
				<-sent
			}})
		var clients sync.WaitGroup
		count := 0
		for lo, n := 0, 1; lo < rows.Samples; n = n%13 + 1 {
			hi := min(lo+n, rows.Samples)
			part, wanted := batch.Slice(rows, lo, hi), want[2*lo:2*hi]
			if part.Slots[1].Weights[0] == 1 && n == 1 {
				part.Slots[1].Weights = nil
			}
			clients.Go(func() {
				if got, err := q.Predict(t.Context(), part); err != nil || !slices.Equal(got, wanted) {
					t.Errorf("limit %d: %v, %v; want %v", limit, got, err, wanted)
				}
			})
			lo, count = hi, count+1
		}
		for q.Waiting()+int(requests.Load()) < count-runtime.GOMAXPROCS(0) {
			runtime.Gosched()
		}
		close(sent)
		clients.Wait()
		q.Close()
		if requests.Load() != int64(count) || predicted.Load() != int64(rows.Samples) {
			t.Errorf("limit %d: %d requests and %d rows were computed, want %d and %d", limit,
				requests.Load(), predicted.Load(), count, rows.Samples)
		}
		if together := largest.Load(); limit == 1 && together > 1 || limit == 1024 && together < 2 {
			t.Errorf("limit %d: at most %d requests were computed together", limit, together)
		}
	}
}

// A queue refuses more requests than can wait, and does not compute those that were given up.
func TestQueueIsBounded(t *testing.T) {
	m, path := trained(t, func(*job.Job) {})
	defer m.Close()
	row := batch.Slice(read(t, m, path), 0, 1)
	entered, leave := make(chan struct{}), make(chan struct{})
	var computed atomic.Int64
	q := inference.NewQueue(m, inference.QueueLimits{Rows: 1, Waiting: 2, Computed: func(requests, _ int) {
		computed.Add(int64(requests))
		entered <- struct{}{}
		<-leave
	}})
	var clients sync.WaitGroup
	ask := func(ctx context.Context) {
		clients.Go(func() {
			if _, err := q.Predict(ctx, row); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	workers := runtime.GOMAXPROCS(0)
	for range workers { // each of them computes a request, until it may leave
		ask(t.Context())
		<-entered
	}
	given, cancel := context.WithCancel(t.Context())
	for waiting, ctx := range []context.Context{t.Context(), given} {
		ask(ctx)
		for q.Waiting() <= waiting {
			runtime.Gosched()
		}
	}
	cancel()
	if _, err := q.Predict(t.Context(), row); !errors.Is(err, inference.ErrBusy) {
		t.Errorf("a further request: %v, want %v", err, inference.ErrBusy)
	}
	go func() {
		for range entered { // the one that was not given up
		}
	}()
	close(leave)
	clients.Wait()
	q.Close()
	close(entered)
	if got := computed.Load(); got != int64(workers+1) {
		t.Errorf("%d requests were computed, want %d", got, workers+1)
	}
}

// A model is replaced without failing a request, is closed after its last use, and one of another schema is
// refused by the name of the difference. Derived slots and means may differ, because no request has them.
func TestLive(t *testing.T) {
	first, path := trained(t, func(*job.Job) {})
	second, _ := trained(t, func(j *job.Job) { j.Training.Seed++ })
	row := batch.Slice(read(t, first, path), 0, 1)
	var want [2][]float32
	for i, m := range []*inference.Model{first, second} {
		want[i], _ = m.Predict(row)
	}
	if slices.Equal(want[0], want[1]) {
		t.Fatal("the models predict the same")
	}
	live := inference.NewLive(first, inference.QueueLimits{Rows: 64, Waiting: 64})
	old := live.Acquire()
	for _, c := range []struct {
		change func(*job.Job)
		want   string
	}{
		{func(j *job.Job) { j.Data.CSV.Slots = j.Data.CSV.Slots[1:] }, `id column "tags"`},
		{func(j *job.Job) { j.Data.CSV.FurtherLabels, j.Model.Heads = nil, nil }, `label "bought"`},
		{func(j *job.Job) { j.Data.CSV.Slots[1].Separator = "" }, `id column "tags" with separator "|"`},
	} {
		other, _ := trained(t, c.change)
		if err := live.Replace(other); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
		other.Close()
	}
	derived, _ := trained(t, func(j *job.Job) {
		j.Data.Derived = []job.DerivedSlot{{Name: "both", Columns: []job.DerivedColumn{{Column: "user"},
			{Column: "tags"}}}}
		j.Data.Means = []string{"user", "both"}
	})
	for _, m := range []*inference.Model{derived, second} {
		if err := live.Replace(m); err != nil {
			t.Fatal(err)
		}
	}
	now := live.Acquire()
	for i, lease := range []*inference.Lease{old, now} {
		got, err := lease.Queue.Predict(t.Context(), row)
		if err != nil || !slices.Equal(got, want[i]) {
			t.Errorf("model %d: %v, %v; want %v", i, got, err, want[i])
		}
	}
	mapped := func() bool { return isMapped(t, first.Folder()) }
	before := mapped()
	old.Release()
	now.Release()
	if after := mapped(); !before || after {
		t.Errorf("mapped before its last use ended: %t, and after: %t", before, after)
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}

// A model whose weights of ids are in another place than those of the served one is refused.
func TestModelsWithOtherWeightsAreRefused(t *testing.T) {
	weighted := func(column job.IDColumn) *inference.Model {
		m, _ := trained(t, func(j *job.Job) {
			text := "user,tags,likes,loves,price,clicked,bought\n"
			for i := range 200 {
				text += fmt.Sprintf("u%d,t%d,%d,%d,1.5,%d,%d\n", i%9, i%5, 1+i%2, 1+i%3, i%3/2, i%5/4)
			}
			if err := os.WriteFile(j.Data.Path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			column.Column, column.Separator = "tags", "|"
			j.Data.CSV.Slots[1] = column
		})
		return m
	}
	live := inference.NewLive(weighted(job.IDColumn{Weights: "likes"}),
		inference.QueueLimits{Rows: 64, Waiting: 64})
	for want, column := range map[string]job.IDColumn{
		`id column "tags" with separator "|" with weights in column "loves", where`: {Weights: "loves"},
		`id column "tags" with separator "|" with weights behind ":", where`:        {WeightSeparator: ":"},
		`id column "tags" with separator "|", where`:                                {},
	} {
		other := weighted(column)
		err := live.Replace(other)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `the served model has id column "tags" with separator "|" with `+
				`weights in column "likes"`) {
			t.Errorf("error %v, want %s", err, want)
		}
		other.Close()
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}

// Ids without a row are counted by column. A derived slot counts none, as known ids may form a new pair.
func TestUnknownIDsAreCountedByColumn(t *testing.T) {
	m, path := trained(t, func(j *job.Job) {
		j.Data.Derived = []job.DerivedSlot{{Name: "both", Columns: []job.DerivedColumn{{Column: "user"},
			{Column: "tags"}}}}
	})
	defer m.Close()
	rows := read(t, m, path)
	rows.Slots[0].IDs[0]++
	for i := range rows.Slots[2].IDs {
		rows.Slots[2].IDs[i]++
	}
	if !m.HasEveryID() {
		t.Error("ids of the training have no row")
	}
	slots, ids, unknown := m.Unknown(rows)
	want := []string{"user", "tags", "both"}
	if !slices.Equal(slots, want) || ids[0] != 1200 || unknown[0] != 1 ||
		ids[2] != 0 || unknown[2] != 0 {
		t.Errorf("%v: %v ids, %v unknown", slots, ids, unknown)
	}
}

// Close waits for requests under way, whose model stays open until they end.
func TestCloseWaitsForRequests(t *testing.T) {
	m, path := trained(t, func(*job.Job) {})
	rows := batch.Slice(read(t, m, path), 0, 1)
	l := inference.NewLive(m, inference.QueueLimits{Rows: 8, Waiting: 8})
	lease := l.Acquire()
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	for next := l.Acquire(); next != nil; next = l.Acquire() { // until Close has begun
		next.Release()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-closed:
		t.Fatalf("closed, %v, while a request is under way", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := lease.Queue.Predict(t.Context(), rows); err != nil {
		t.Error(err)
	}
	lease.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A hash-stack has rows for every id, so it counts none; and a training that admits ids by lot, or has
// evicted some, says so.
func TestIDsOfTheTrainingWithoutRows(t *testing.T) {
	stack, path := trained(t, func(j *job.Job) {
		j.Data.Slots = []job.SlotSetting{{Slot: "user", HashStack: batch.HashStack{Rounds: 2, Rows: 50}}}
	})
	defer stack.Close()
	rows := read(t, stack, path)
	for i := range rows.Slots[0].IDs {
		rows.Slots[0].IDs[i] += 12345
	}
	if _, ids, unknown := stack.Unknown(rows); ids[0] != 0 || unknown[0] != 0 {
		t.Errorf("%d of %d ids of a hash-stack are unknown", unknown[0], ids[0])
	}
	for name, c := range map[string]struct {
		change func(*job.Job)
		every  bool
	}{
		"by lot":       {func(j *job.Job) { j.Rows.Admission = 0.5 }, false},
		"evicted":      {func(j *job.Job) { j.Rows.Capacity, j.Rows.Eviction = 8, job.SecondChance }, false},
		"all admitted": {func(j *job.Job) { j.Rows.Admission = 1 }, true},
	} {
		m, _ := trained(t, c.change)
		if m.HasEveryID() != c.every {
			t.Errorf("%s: every id has a row: %t", name, !c.every)
		}
		m.Close()
	}
}

// isMapped says whether files of a folder are mapped into memory.
func isMapped(t *testing.T, folder string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("needs /proc/self/maps")
	}
	return strings.Contains(string(maps), folder)
}

// What is computed with requests of one row, and with 64 at a time.
func BenchmarkPredict(b *testing.B) {
	m, path := trained(b, func(j *job.Job) { j.Model.Top = []int{256, 128} })
	defer m.Close()
	all := read(b, m, path)
	for _, n := range []int{1, 64, 1000} {
		rows := batch.Slice(all, 0, n)
		b.Run(fmt.Sprint("rows=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Predict(rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package bucket

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// service is an S3 store that others have written, with the bucket "models".
type service struct {
	s3      http.Handler
	sent    atomic.Int64 // bytes of objects
	changes atomic.Int64 // requests that change the store
	refuse  atomic.Int64 // from this change on, if it is not 0, all are refused
	hold    chan struct{}
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodDelete {
		if n := s.changes.Add(1); s.refuse.Load() > 0 && n >= s.refuse.Load() {
			http.Error(w, "<Error><Code>InvalidRequest</Code></Error>", http.StatusBadRequest)
			return
		}
		if s.hold != nil {
			<-s.hold
		}
		s.sent.Add(max(r.ContentLength, 0))
	}
	s.s3.ServeHTTP(w, r)
}

// newStore opens a folder of a new bucket.
func newStore(t *testing.T) (*Store, *service) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("models"); err != nil {
		t.Fatal(err)
	}
	s := &service{s3: gofakes3.New(backend).Server()}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	store, err := Open(t.Context(), "s3://models/runs/a?region=eu-west-1&use_path_style=true&endpoint="+
		server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store, s
}

// saved trains a job that saves checkpoints after 1 to 4 steps, of which one in three has all rows.
func saved(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	columns := exectest.NewColumns(80, 16)
	s := checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 3}}
	_, err := train.Run(t.Context(), exectest.Job(2, 2), columns, columns.All, train.Options{SaveEvery: 1,
		Save: func(step int, state exec.State) error {
			m := &checkpoint.Manifest{Mode: "sync", Step: step, Job: fmt.Appendf(nil, "name: test\n"),
				Scaling: []batch.Scaling{{Mean: 0.1, Std: 2}}}
			return s.Save(checkpoint.StepFolder(folder, step), m, state)
		}})
	if err != nil || s.Wait() != nil {
		t.Fatal(err)
	}
	return folder
}

// equal compares the files of two checkpoints.
func equal(t *testing.T, got, want string) {
	t.Helper()
	names, err := os.ReadDir(want)
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		x, err := os.ReadFile(filepath.Join(want, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(filepath.Join(got, name.Name())); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs: %v", name.Name(), err)
		}
	}
}

// The newest copy has the files of the checkpoint. What the copy before has is not sent again.
func TestCopiesAreTheCheckpoints(t *testing.T) {
	store, service := newStore(t)
	folder := saved(t)
	if _, _, ok, err := store.Newest(t.Context()); ok || err != nil {
		t.Fatal(ok, err)
	}
	var sent [5]int64
	for step := 1; step <= 4; step++ {
		before := service.sent.Load()
		if err := store.Put(t.Context(), folder, step); err != nil {
			t.Fatal(err)
		}
		sent[step] = service.sent.Load() - before
		n, job, ok, err := store.Newest(t.Context())
		if n != step || string(job) != "name: test\n" || !ok || err != nil {
			t.Errorf("the newest copy is %d of %q, %v, %v", n, job, ok, err)
		}
		into := t.TempDir()
		if n, damaged, err := store.Fetch(t.Context(), into, 0); n != step || damaged != nil || err != nil {
			t.Fatal(n, damaged, err)
		}
		equal(t, checkpoint.StepFolder(into, step), checkpoint.StepFolder(folder, step))
		c, err := checkpoint.OpenIntact(checkpoint.StepFolder(into, step))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Of the third, the files of all rows are those of the second.
	var bytes, shared int64
	third, second := checkpoint.StepFolder(folder, 3), checkpoint.StepFolder(folder, 2)
	names, err := os.ReadDir(third)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		here, err := os.Stat(filepath.Join(third, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		bytes += here.Size()
		before, err := os.Stat(filepath.Join(second, name.Name()))
		if err == nil && os.SameFile(here, before) {
			shared += here.Size()
		}
	}
	if shared < 8000 || sent[3] > bytes-shared/2 {
		t.Errorf("%d bytes are sent for a copy of %d, of which the copy before has %d", sent[3], bytes,
			shared)
	}
}

// A copy that was cut off anywhere is none, and the one before remains.
func TestCopiesThatAreCutOff(t *testing.T) {
	folder := saved(t)
	for cut := int64(1); ; cut++ {
		store, service := newStore(t)
		if err := store.Put(t.Context(), folder, 1); err != nil {
			t.Fatal(err)
		}
		service.refuse.Store(service.changes.Load() + cut)
		err := store.Put(t.Context(), folder, 2)
		into := t.TempDir()
		step, damaged, failed := store.Fetch(t.Context(), into, 0)
		if failed != nil || damaged != nil || (err == nil) != (step == 2) || (err != nil) != (step == 1) {
			t.Fatalf("cut off at change %d with %v: the copy after %d steps, %v, %v", cut, err, step, damaged,
				failed)
		}
		equal(t, checkpoint.StepFolder(into, step), checkpoint.StepFolder(folder, step))
		if err == nil {
			if cut < 6 {
				t.Errorf("a copy takes %d changes", cut-1)
			}
			service.refuse.Store(service.changes.Load() + 2)
			if err := store.Put(t.Context(), folder, 2); err == nil {
				t.Error("a copy of one file is complete")
			}
			if step, _, err := store.Fetch(t.Context(), t.TempDir(), 0); step != 1 || err != nil {
				t.Errorf("while a copy is replaced: the copy after %d steps, %v", step, err)
			}
			return
		}
		service.refuse.Store(0)
		if err := store.Put(t.Context(), folder, 2); err != nil {
			t.Fatalf("cut off at change %d, and then: %v", cut, err)
		}
	}
}

// Damage to a file is found, in the folder before anything is complete, and in the store.
func TestDamagedCopies(t *testing.T) {
	folder := saved(t)
	entries, err := os.ReadDir(checkpoint.StepFolder(folder, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		store, _ := newStore(t)
		for step := 1; step <= 2; step++ {
			if err := store.Put(t.Context(), folder, step); err != nil {
				t.Fatal(err)
			}
		}
		key := "2/" + e.Name()
		content, err := store.bucket.ReadAll(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 4
		if err := store.bucket.WriteAll(t.Context(), key, content, &blob.WriterOptions{}); err != nil {
			t.Fatal(err)
		}
		into := t.TempDir()
		step, damaged, err := store.Fetch(t.Context(), into, 0)
		if step != 1 || len(damaged) != 1 || err != nil ||
			!strings.Contains(damaged[0].Error(), e.Name()) {
			t.Errorf("%s is damaged: the copy after %d steps, %v, %v", e.Name(), step, damaged, err)
		}
		if step, damaged, err := store.Fetch(t.Context(), t.TempDir(), 1); step != 0 || len(damaged) != 1 ||
			err != nil {
			t.Errorf("nothing later than step 1 is intact: the copy after %d steps, %v, %v", step, damaged,
				err)
		}
		if err := store.bucket.Delete(t.Context(), "1/"+checkpoint.DenseFile); err != nil {
			t.Fatal(err)
		}
		if step, _, err := store.Fetch(t.Context(), t.TempDir(), 0); err == nil ||
			!strings.Contains(err.Error(), "no copy is intact") {
			t.Errorf("all are damaged: the copy after %d steps, %v", step, err)
		}
	}
	store, _ := newStore(t)
	here := filepath.Join(checkpoint.StepFolder(folder, 2), checkpoint.DenseFile)
	content, err := os.ReadFile(here)
	if err != nil {
		t.Fatal(err)
	}
	content[0] ^= 1
	if err := os.WriteFile(here, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), folder, 2); err == nil || !checkpoint.IsDamage(err) ||
		!strings.Contains(err.Error(), checkpoint.DenseFile) {
		t.Errorf("a damaged file is copied: %v", err)
	}
	if _, _, ok, err := store.Newest(t.Context()); ok || err != nil {
		t.Errorf("a damaged copy is complete: %v, %v", ok, err)
	}
	if found, _ := store.bucket.Exists(t.Context(), "2/"+checkpoint.DenseFile); found {
		t.Error("a damaged file is in the store")
	}
}

// The newest copies stay, and the young ones. What training has gone back from goes.
func TestOldCopiesGo(t *testing.T) {
	store, _ := newStore(t)
	folder := saved(t)
	left := func() (steps []int) {
		all, err := store.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			steps = append(steps, c.step)
		}
		return steps
	}
	for step := 1; step <= 4; step++ {
		if err := store.Put(t.Context(), folder, step); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"7/job.yaml", "0/job.yaml", "notes/a.txt"} {
		if err := store.bucket.WriteAll(t.Context(), key, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		keep checkpoint.Keep
		want string
	}{
		{checkpoint.Keep{Newest: 3, For: time.Hour}, "[1 2 3 4]"},
		{checkpoint.Keep{Newest: 3}, "[2 3 4]"},
		{checkpoint.Keep{Newest: 1}, "[4]"},
	} {
		if err := store.Prune(t.Context(), 4, c.keep); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(left()); got != c.want {
			t.Errorf("%+v leaves %v, want %v", c.keep, got, c.want)
		}
	}
	if step, _, err := store.Fetch(t.Context(), t.TempDir(), 0); step != 4 || err != nil {
		t.Error(step, err)
	}
	if err := store.Put(t.Context(), folder, 2); err != nil {
		t.Fatal(err)
	}
	if err := store.Prune(t.Context(), 2, checkpoint.Keep{Newest: 9, For: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(left()); got != "[2]" {
		t.Errorf("training has gone back to step 2, and %v stay", got)
	}
	if found, err := store.bucket.Exists(t.Context(), "notes/a.txt"); !found || err != nil {
		t.Error("what is no copy has gone", err)
	}
}

// While a copy is on its way, training goes on, and of the checkpoints of that time the newest is copied.
func TestCopierTakesTheNewest(t *testing.T) {
	store, service := newStore(t)
	folder := saved(t)
	service.hold = make(chan struct{})
	c := store.Follow(t.Context(), folder, checkpoint.Keep{Newest: 9}, func(err error) { t.Error(err) })
	c.Saved(1)
	service.hold <- struct{}{} // the first file of the copy is on its way
	for step := 2; step <= 4; step++ {
		c.Saved(step)
	}
	close(service.hold)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := store.list(t.Context())
	if err != nil || len(all) != 2 || all[0].step != 1 || all[1].step != 4 {
		t.Errorf("copies %v, %v", all, err)
	}
}

// A copy that fails is named, and the next is made. The last one's error is that of Close.
func TestCopierNamesFailures(t *testing.T) {
	store, service := newStore(t)
	folder := saved(t)
	var failed []string
	told := make(chan struct{}, 2)
	c := store.Follow(t.Context(), folder, checkpoint.Keep{Newest: 1}, func(err error) {
		failed = append(failed, err.Error())
		told <- struct{}{}
	})
	service.refuse.Store(1)
	c.Saved(1)
	<-told
	service.refuse.Store(0)
	c.Saved(2)
	if err := c.Close(); err != nil || len(failed) != 1 || !strings.HasPrefix(failed[0],
		"the checkpoint is not copied: checkpoint "+checkpoint.StepFolder(folder, 1)) ||
		strings.Contains(failed[0], "\n") {
		t.Errorf("%v; %q", err, failed)
	}
	ended, cancel := context.WithCancel(t.Context())
	c = store.Follow(ended, folder, checkpoint.Keep{Newest: 1}, func(error) {})
	cancel()
	c.Saved(3)
	if err := c.Close(); err == nil {
		t.Error("a copy that was not made is no error")
	}
}

// What names no store, or none that answers, is one line.
func TestStoresThatDoNotOpen(t *testing.T) {
	for _, address := range []string{"gs://models/a", "models", "s3:///a"} {
		if _, err := Open(t.Context(), address); err == nil ||
			!strings.Contains(err.Error(), "write s3://BUCKET") {
			t.Errorf("%s: %v", address, err)
		}
	}
	store, _ := newStore(t)
	other := strings.Replace(store.url, "//models/", "//none/", 1)
	missing, err := Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer missing.Close()
	if _, _, _, err := missing.Newest(t.Context()); err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "check bucket") {
		t.Errorf("a bucket that does not exist: %v", err)
	}
}

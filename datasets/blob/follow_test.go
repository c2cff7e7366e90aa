package blob_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tandem/algo/job"
	"tandem/datasets"
)

// arriving is a bucket "rows" in which objects appear.
type arriving struct {
	t       *testing.T
	backend *s3mem.Backend
	handler http.Handler
	down    atomic.Bool
}

// ServeHTTP implements http.Handler.
func (a *arriving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.down.Load() {
		w.WriteHeader(http.StatusForbidden) // which the client does not try again by itself
		fmt.Fprint(w, "<Error><Code>AccessDenied</Code></Error>")
		return
	}
	a.handler.ServeHTTP(w, r)
}

// newArriving returns a bucket, and the data of its folder clicks, which are kept in a folder.
func newArriving(t *testing.T) (*arriving, job.Data) {
	t.Helper()
	a := &arriving{t: t, backend: s3mem.New()}
	if err := a.backend.CreateBucket("rows"); err != nil {
		t.Fatal(err)
	}
	a.handler = gofakes3.New(a.backend).Server()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	return a, job.Data{Kind: job.KindFollow, Path: filepath.Join(t.TempDir(), "rows"),
		From: "s3://rows/clicks?region=eu-west-1&use_path_style=true&endpoint=" + server.URL,
		CSV:  &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "click"}}
}

// put makes an object of rows first to end−1.
func (a *arriving) put(key string, first, end int) {
	a.t.Helper()
	var text bytes.Buffer
	text.WriteString("user,click\n")
	for row := first; row < end; row++ {
		fmt.Fprintf(&text, "%d,%d\n", row, row%2)
	}
	if _, err := a.backend.PutObject("rows", key, map[string]string{}, &text, int64(text.Len()),
		nil); err != nil {
		a.t.Fatal(err)
	}
}

// follower reads what a feed brings.
type follower struct {
	t      *testing.T
	stream *datasets.Stream
	ids    []uint64
}

// until reads rows until there is a number of them.
func (f *follower) until(rows int) {
	f.t.Helper()
	for deadline := time.Now().Add(time.Minute); len(f.ids) < rows; time.Sleep(5 * time.Millisecond) {
		block, _, _, err := f.stream.Next(f.stream.Steps())
		if err != nil || time.Now().After(deadline) {
			f.t.Fatalf("%d rows, want %d, error %v", len(f.ids), rows, err)
		}
		if block != nil {
			f.ids = append(f.ids, block.Slots[0].IDs...)
		}
	}
}

// Objects are brought as they appear, in the order of their names, each once; not those of folders within,
// nor those with the names of unfinished files. A store that is not there for a while is asked again.
func TestObjectsAreFollowed(t *testing.T) {
	store, data := newArriving(t)
	store.put("clicks/1 a.csv", 4, 8)
	store.put("clicks/0.csv", 0, 4)
	store.put("clicks/within/2.csv", 100, 104)
	store.put("clicks/_2.csv", 100, 104)
	store.put("clicks-too/2.csv", 100, 104)
	j := job.Default()
	j.Training.GlobalBatch = 4
	want := func(rows int) (ids []uint64) {
		for row := range rows {
			ids = append(ids, datasets.CategoryID(fmt.Sprint(row)))
		}
		return ids
	}
	follow := func(taken ...string) *follower {
		t.Helper()
		feed, err := datasets.StartFeed(t.Context(), data, "", nil, taken)
		if err != nil {
			t.Fatal(err)
		}
		stream, set, err := datasets.Follow(t.Context(), data, "", "", feed, func(time.Duration) {})
		if err == nil {
			err = stream.Begin(&j, filepath.Join(t.TempDir(), "ledger"))
		}
		if err != nil {
			t.Fatal(err)
		}
		return &follower{t, stream, slices.Clone(set.Train.Slots[0].IDs)}
	}
	f := follow()
	f.until(8)
	store.down.Store(true)
	time.Sleep(1500 * time.Millisecond) // the folder is listed every second
	store.put("clicks/2.csv", 8, 12)
	store.down.Store(false)
	f.until(12)
	if !slices.Equal(f.ids, want(12)) {
		t.Errorf("ids of %d rows", len(f.ids))
	}
	if err := f.stream.Forget(2); err != nil {
		t.Fatal(err)
	}
	if err := f.stream.Close(); err != nil {
		t.Fatal(err)
	}
	store.put("clicks/3.csv", 12, 16)
	next := follow("0.csv", "1 a.csv") // the stream here is a new one, and takes 2.csv, which is there, again
	next.until(8)
	if !slices.Equal(next.ids, want(16)[8:]) {
		t.Errorf("ids of %d rows", len(next.ids))
	}
	if err := next.stream.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(data.Path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := ".lock 2.csv 3.csv"; strings.Join(names, " ") != want {
		t.Errorf("files %q, want %s", names, want)
	}
}

// A folder of a store that cannot be listed is an error at once.
func TestFoldersThatCannotBeListed(t *testing.T) {
	store, data := newArriving(t)
	store.down.Store(true)
	if _, err := datasets.StartFeed(t.Context(), data, "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "check credentials") {
		t.Error(err)
	}
	data.From = "s3://no-such-bucket/" + data.From[len("s3://rows/"):]
	store.down.Store(false)
	if _, err := datasets.StartFeed(t.Context(), data, "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "check bucket, key and region") {
		t.Error(err)
	}
}

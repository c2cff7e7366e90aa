package blob_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/datasets"
	_ "tandem/datasets/blob"
	"tandem/datasets/infer"
)

// store is an S3 store with one bucket, "rows", that answers as the service does.
type store struct {
	t       *testing.T
	objects map[string][]byte
	written time.Time
	ranges  atomic.Int64 // GET requests with a range
	largest atomic.Int64 // bytes of the largest answer
	fail    atomic.Int64 // the next requests that fail
	replace atomic.Bool  // replaces objects after the first range
}

// newStore serves a store and returns it with a function from keys to URLs.
func newStore(t *testing.T) (*store, func(key string) string) {
	t.Helper()
	s := &store{t: t, objects: map[string][]byte{}, written: time.Unix(1_700_000_000, 0)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return s, func(key string) string {
		return fmt.Sprintf("s3://rows/%s?region=eu-west-1&use_path_style=true&endpoint=%s", key, server.URL)
	}
}

// ServeHTTP implements http.Handler.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
		}
	}
	key, ours := strings.CutPrefix(r.URL.Path, "/rows/")
	content, known := s.objects[key]
	switch {
	case s.fail.Add(-1) >= 0:
		refuse(http.StatusServiceUnavailable, "SlowDown")
	case !ours:
		refuse(http.StatusForbidden, "AccessDenied")
	case !known:
		refuse(http.StatusNotFound, "NoSuchKey")
	default:
		written := s.written
		if r.Header.Get("Range") != "" && s.ranges.Add(1) > 1 && s.replace.Load() {
			written = written.Add(time.Second)
		}
		counted := &counted{ResponseWriter: w}
		http.ServeContent(counted, r, "", written, bytes.NewReader(content))
		s.largest.Store(max(s.largest.Load(), counted.bytes))
	}
}

type counted struct {
	http.ResponseWriter
	bytes int64
}

// Write implements http.ResponseWriter.
func (c *counted) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.ResponseWriter.Write(p)
}

// table is a table of some MB.
func table(rows int) []byte {
	var text bytes.Buffer
	text.WriteString("user,price,click\n")
	for i := range rows {
		fmt.Fprintf(&text, "u%07d-%s,%d.5,%d\n", i*7919%9973, strings.Repeat("x", 60), i%11, i%4/3)
	}
	return text.Bytes()
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// columns describes a table at a path.
func columns(path string) job.Data {
	return job.Data{Kind: job.KindCSV, Path: path, Split: job.Split{Test: 0.1}, Cache: job.CacheOff,
		CSV: &job.Table{Label: "click", Numeric: []string{"price"}, Slots: []job.IDColumn{{Column: "user"}}}}
}

// An object gives the rows of the file, plain or compressed, in memory or streamed, and is read in ranges.
// A few requests may fail.
func TestObjectsAreReadAsFiles(t *testing.T) {
	s, address := newStore(t)
	text := table(130_000) // 10 MB, two ranges
	s.objects["a b/table.csv"], s.objects["table.csv.gz"] = text, packed(t, text)
	file := columns(filepath.Join(t.TempDir(), "table.csv"))
	if err := os.WriteFile(file.Path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	file.Stream = true
	want, err := datasets.Open(file, "")
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := want.InMemory()
	if err != nil {
		t.Fatal(err)
	}
	s.fail.Store(2)
	for _, key := range []string{"a%20b/table.csv", "table.csv.gz"} {
		for _, stream := range []bool{true, false} {
			data := columns(address(key))
			data.Stream = stream
			set, err := datasets.Open(data, "")
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			if got, err := set.InMemory(); err != nil ||
				!reflect.DeepEqual(got.Train.Slots, wanted.Train.Slots) ||
				!reflect.DeepEqual(set.Test.Labels, want.Test.Labels) {
				t.Errorf("%s, streamed %v: rows differ, error %v", key, stream, err)
			}
		}
	}
	if n := s.largest.Load(); s.ranges.Load() < 6 || n > 8<<20 {
		t.Errorf("%d ranges, the largest of %d bytes; want ranges of at most 8 MiB", s.ranges.Load(), n)
	}
	same, err := datasets.Fingerprint(file, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := datasets.Fingerprint(columns(address("a%20b/table.csv")), "")
	if err != nil || !bytes.Equal(got, same) {
		t.Errorf("the fingerprint differs from that of the file, error %v", err)
	}
	_, set, found, err := infer.Open(infer.Request{File: address("table.csv.gz"), Memory: 1 << 20,
		Split: job.Split{How: job.SplitRandom, Test: 0.2}})
	if err != nil || set.Rows == nil || found.Data.CSV.Label != "click" {
		t.Errorf("inferred: %+v, error %v", found, err)
	}
}

// What cannot be read is one line that says what to do.
func TestObjectsThatCannotBeRead(t *testing.T) {
	s, address := newStore(t)
	s.objects["table.csv"] = table(10)
	for _, c := range []struct {
		url  string
		is   error
		want string
	}{
		{address("none.csv"), fs.ErrNotExist, "check bucket, key and region"},
		{strings.Replace(address("table.csv"), "//rows/", "//other/", 1), fs.ErrPermission,
			"check credentials"},
		{"s3://rows", nil, "no URL of an object: write s3://BUCKET/KEY"},
		{"s3:///table.csv", nil, "no URL of an object"},
		{address("table.csv") + "&colour=red", nil, "colour"},
		{"gs://rows/table.csv", nil, `URLs of scheme "gs" cannot be opened`},
		{"file://host/table.csv", nil, "write file:///folder/clicks.csv"},
	} {
		_, err := datasets.Open(columns(c.url), "")
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) ||
			strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: error %v, want %s", c.url, err, c.want)
		}
	}
	s.fail.Store(1000)
	begin := time.Now()
	if _, err := datasets.Open(columns(address("table.csv")), ""); err == nil ||
		time.Since(begin) > 11*time.Second {
		t.Errorf("a store that is down: error %v after %v", err, time.Since(begin))
	}
}

// An object that is replaced while it is read is refused.
func TestObjectsThatChange(t *testing.T) {
	s, address := newStore(t)
	s.objects["table.csv"] = table(130_000)
	s.replace.Store(true)
	if _, err := datasets.Open(columns(address("table.csv")), ""); err == nil ||
		!strings.Contains(err.Error(), "the object has changed since it was opened") {
		t.Errorf("error %v", err)
	}
}

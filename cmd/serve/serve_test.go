package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/modeltest"
	"tandem/internal/pythontest"
	"tandem/runtime/inference"
	"tandem/runtime/inference/oip"
)

// save trains a model on a table of clicks.
func save(t *testing.T) (table, folder string) { return saveWith(t, func(*job.Job) {}) }

// saveWith trains a model on a table of clicks by a changed job.
func saveWith(t *testing.T, change func(*job.Job)) (table, folder string) {
	t.Helper()
	j := clicksJob(t, 300, func(row int) (user, tag int) { return row % 17, row % 5 })
	change(&j)
	folder, _ = modeltest.Train(t, j)
	return j.Data.Path, folder
}

// clicksJob writes a table of clicks, with a number of rows by users on tags, and returns a job that learns
// it.
func clicksJob(t testing.TB, rows int, by func(row int) (user, tag int)) job.Job {
	t.Helper()
	table := filepath.Join(t.TempDir(), "clicks.csv")
	var text strings.Builder
	text.WriteString("user,tags,price,clicked\n")
	for i := range rows {
		user, tag := by(i)
		fmt.Fprintf(&text, "u%d,a%d|b%d,%g,%d\n", user, tag, i%3, float64(i%7)/2, i%3/2)
	}
	if err := os.WriteFile(table, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Data = job.Data{Kind: job.KindCSV, Path: table, Cache: job.CacheOff, CSV: &job.Table{Label: "clicked",
		Slots:   []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}},
		Numeric: []string{"price"}}}
	return j
}

// expected returns the predictions of the rows of a table, without a server.
func expected(t *testing.T, table, folder string) (all []float32) {
	t.Helper()
	m, err := inference.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := datasets.ReadFeatures(m.Data(), m.Scaling(), table, func(b *batch.Batch, _ float64) error {
		p, err := m.Predict(b)
		all = append(all, p...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// start runs the program, and returns its address and a function that ends it.
func start(t *testing.T, args ...string) (address string, stop func() int) {
	t.Helper()
	line, stop := startLine(t, args...)
	return "http://" + addressOf(line), stop
}

// addressOf returns the HTTP address in the first line that the program prints.
func addressOf(line string) string {
	_, address, _ := strings.Cut(line, "http://")
	address, _, _ = strings.Cut(address, "/")
	return address
}

// startLine runs the program, and returns its first line and a function that ends it.
func startLine(t *testing.T, args ...string) (line string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append(args, "--http", "127.0.0.1:0"), io.Discard, write)
		write.Close()
	}()
	first := make([]byte, 4096)
	n, err := read.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, read)
	stop = sync.OnceValue(func() int { cancel(); return <-code })
	t.Cleanup(func() { stop() })
	return strings.TrimSpace(string(first[:n])), stop
}

// newTestService returns a service of the model in a folder.
func newTestService(t *testing.T, folder string) *service {
	t.Helper()
	m, err := inference.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{name: "tandem", rowsMax: 100, timeMax: time.Minute, slots: make(chan struct{}, 256)}
	s.live = inference.NewLive(m, inference.QueueLimits{Rows: 64, Waiting: 64, Computed: s.counts.computed})
	t.Cleanup(func() { s.live.Close() })
	return s
}

// columns returns the columns of a table without its header.
func columns(t *testing.T, table string) (users, tags []string, prices []float32) {
	t.Helper()
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f, price := strings.Split(line, ","), float32(0)
		fmt.Sscan(f[2], &price)
		users, tags, prices = append(users, f[0]), append(tags, f[1]), append(prices, price)
	}
	return users, tags, prices
}

func post(t *testing.T, address, path string, body []byte) (status int, text []byte) {
	t.Helper()
	r, err := http.Post(address+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err = io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode == http.StatusRequestEntityTooLarge && !r.Close {
		t.Error("the connection stays open after a request that is too large")
	}
	return r.StatusCode, text
}

// The answers of the server are the predictions for the same rows of a file, in several requests at a time.
// Rows of the second model are hot, a slot of it is derived from two columns, and numbers from three slots,
// which no request has.
func TestAnswersAreThePredictionsOfTheFile(t *testing.T) {
	for _, share := range []float64{0, 0.1} {
		compareAnswers(t, share)
	}
}

// compareAnswers is TestAnswersAreThePredictionsOfTheFile with hot rows of a least share.
func compareAnswers(t *testing.T, share float64) {
	table, folder := saveWith(t, func(j *job.Job) {
		if j.Rows.Hot.Share = share; share > 0 {
			j.Data.Derived = []job.DerivedSlot{{Name: "tag, price", Columns: []job.DerivedColumn{
				{Column: "tags"}, {Column: "price", Edges: []float64{1, 2}}}}}
			j.Data.Means = []string{"tag, price", "user", "tags"}
		}
	})
	want := expected(t, table, folder)
	address, stop := start(t, folder, "--name", "clicks")
	users, tags, prices := columns(t, table)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for lo := 0; lo < len(want); lo += 60 {
				n := 60
				body, _ := json.Marshal(map[string]any{"id": "r1", "inputs": []any{
					map[string]any{"name": "price", "shape": []int{n, 1}, "datatype": "FP32",
						"data": prices[lo : lo+n]},
					map[string]any{"name": "tags", "shape": []int{n}, "datatype": "BYTES",
						"data": tags[lo : lo+n]},
					map[string]any{"name": "user", "shape": []int{n, 1}, "datatype": "BYTES",
						"data": users[lo : lo+n]},
				}})
				status, text := post(t, address, "/v2/models/clicks/infer", body)
				var got struct {
					ID      string `json:"id"`
					Outputs []struct {
						Shape []int     `json:"shape"`
						Data  []float32 `json:"data"`
					} `json:"outputs"`
				}
				if err := json.Unmarshal(text, &got); err != nil || status != http.StatusOK ||
					got.ID != "r1" || !slices.Equal(got.Outputs[0].Shape, []int{n, 1}) ||
					!slices.Equal(got.Outputs[0].Data, want[lo:lo+n]) {
					t.Errorf("rows from %d on: status %d, %.300s", lo, status, text)
				}
			}
		})
	}
	clients.Wait()
	for path, want := range map[string]string{
		"/v2/health/live": "", "/v2/health/ready": "", "/v2": "binary_tensor_data",
		"/v2/models/clicks":       `{"name":"user","datatype":"BYTES","shape":[-1,1]}`,
		"/v2/models/clicks/ready": "",
	} {
		r, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: status %d, %s", path, r.StatusCode, text)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d after an interrupt", code)
	}
}

// Every wrong request is refused with the name of what is wrong.
func TestRefusals(t *testing.T) {
	_, folder := save(t)
	address, _ := start(t, folder, "--max-request", "2000", "--max-rows", "2")
	user := `{"name": "user", "shape": [1, 1], "datatype": "BYTES", "data": ["u1"]}`
	tags := strings.Replace(user, "user", "tags", 1)
	two := strings.NewReplacer("[1, 1]", "[2]", `"u1"`, `"u1", "u2"`)
	price := `{"name": "price", "shape": [1, 1], "datatype": "FP32", "data": [[1.5]]}`
	three := strings.NewReplacer("[1, 1]", "[3, 1]", `"u1"`, `"u1", "u2", "u3"`, "1.5", "1.5], [2], [3")
	for _, c := range []struct {
		path, inputs string
		status       int
		want         string
	}{
		{"tandem/infer", user + "," + tags + "," + price, 200, "prediction"},
		{"tandem/infer", user + "," + price, 400, `input \"tags\" is missing`},
		{"tandem/infer", strings.Replace(user, "user", "item", 1), 400, `input \"item\" is no column`},
		{"tandem/infer", user + "," + user, 400, `input \"user\" comes twice`},
		{"tandem/infer", user + "," + tags + "," + strings.Replace(price, "FP32", "BYTES", 1), 400,
			`input \"price\": datatype \"BYTES\", want FP32`},
		{"tandem/infer", user + "," + tags + "," + strings.Replace(price, "FP32", "FP64", 1), 200,
			"prediction"},
		{"tandem/infer", strings.NewReplacer("BYTES", "INT64", `"u1"`, "17").Replace(user) + "," + tags +
			"," + price, 200, "prediction"},
		{"tandem/infer", strings.NewReplacer("BYTES", "INT8", `"u1"`, "300").Replace(user) + "," + tags +
			"," + price, 400, `input \"user\": data: 300 is no INT8`},
		{"tandem/infer", user + "," + tags + "," + strings.Replace(price, "1.5", "true", 1), 400,
			`input \"price\": data: a value is true or false, want numbers`},
		{"tandem/infer", strings.Replace(user, "[1, 1]", "[1, 2]", 1) + "," + tags + "," + price, 400,
			`input \"user\": shape [1 2], want [n, 1]`},
		{"tandem/infer", strings.Replace(user, "[1, 1]", "[2, 1]", 1) + "," + tags + "," + price, 400,
			`input \"user\": 1 values, and the shape says 2`},
		{"tandem/infer", user + "," + two.Replace(tags) + "," + price, 400,
			`input \"tags\": 2 rows, and the inputs before have 1`},
		{"tandem/infer", user + "," + tags + "," + strings.Replace(price, "1.5", `"x"`, 1), 400,
			`input \"price\": data: `},
		{"tandem/infer", strings.Replace(user, `"u1"`, "null", 1) + "," + tags + "," + price, 400,
			`input \"user\": data: a value is a number, true, false or null, want texts`},
		{"tandem/infer", user + "," + tags + "," + strings.Replace(price, "1.5", "null", 1), 400,
			`input \"price\": a number is missing`},
		{"tandem/infer", three.Replace(user + "," + tags + "," + price), 400,
			`input \"user\": 3 rows, and a request may have 2 (--max-rows)`},
		{"tandem/infer", "nothing", 400, "not what the protocol asks for"},
		{"tandem/infer", strings.Repeat(" ", 3000), 413, "more than 2000 bytes"},
		{"other/infer", user, 404, `model \"other\" is unknown`},
		{"tandem/versions/7/infer", user, 404, `version \"7\" is unknown`},
		{"tandem/train", user, 404, "no POST"},
	} {
		body := `{"inputs": [` + c.inputs + `]}`
		status, text := post(t, address, "/v2/models/"+c.path, []byte(body))
		if status != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%s, %s: status %d, %s; want %d, %s", c.path, c.inputs, status, text, c.status, c.want)
		}
	}
}

// A missing number is refused by a model that was trained without any.
func TestMissingNumbers(t *testing.T) {
	nan := tensor{name: "price", shape: []int64{1}, datatype: datatypeFP32, isRaw: true,
		raw: []byte{0, 0, 0xc0, 0x7f}}
	null := tensor{name: "price", shape: []int64{1}, datatype: datatypeFP32,
		json: &jsonValues{numbers: []float32{float32(math.NaN())}}}
	typed := tensor{name: "price", shape: []int64{1}, datatype: datatypeFP32,
		typed: &oip.InferTensorContents{Fp32Contents: []float32{float32(math.NaN())}}}
	for _, missing := range [][]string{nil, {"NA"}} {
		for _, in := range []tensor{nan, null, typed} {
			table := &job.Table{Numeric: []string{"price"}, Missing: missing}
			got, err := features(table, []tensor{in}, 1)
			if (err == nil) != (missing != nil) || err == nil && !isNaN(got.Numbers[0][0]) {
				t.Errorf("missing numbers %q: numbers %v, error %v", missing, got.Numbers, err)
			}
		}
	}
}

func TestPortInUse(t *testing.T) {
	_, folder := save(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{folder, "--http", taken.Addr().String()}, 1, "address already in use"},
		{[]string{folder, "--http", "127.0.0.1:0", "--grpc", taken.Addr().String()}, 1, "another --grpc"},
		{[]string{t.TempDir()}, 1, "there is no manifest.json"},
		{[]string{}, 2, "0 arguments, want 1"},
		{[]string{folder, "--reload", "-1s"}, 2, "--reload -1s: must not be negative"},
		{[]string{folder, "--follow", "--stale-after", "-1s"}, 2, "--stale-after -1s: must not be negative"},
		{[]string{folder, "--stale-after", "1m"}, 2, "--stale-after: the server follows no training"},
		{[]string{folder, "--follow", "--reload", "0"}, 2, "--reload 0 for none"},
		{[]string{folder, "--max-request", "0"}, 2, "must be at least 1"},
	} {
		var stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		code := run(ctx, c.args, io.Discard, &stderr)
		cancel()
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit code %d, %s; want %d, %s", c.args, code, stderr.String(), c.code, c.want)
		}
	}
}

// tritonclient, a program of others, gets the same predictions, as bytes and as JSON.
func TestTritonClient(t *testing.T) {
	python := pythontest.With(t, "tritonclient.http")
	table, folder := save(t)
	address, _ := start(t, folder)
	out := python.Run(t, nil, "testdata/client.py", "http", strings.TrimPrefix(address, "http://"), table)
	want := expected(t, table, folder)
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		var got []float32
		if err := json.Unmarshal([]byte(line), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("answer %d: other predictions: %.200s", i+1, line)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/runtime/metrics"
)

// Requests are counted by their status, and rows where they were predicted.
func TestMetrics(t *testing.T) {
	_, folder := save(t)
	s := newTestService(t, folder)
	observed, err := metrics.Serve("127.0.0.1:0", "serve", "", s.collect)
	if err != nil {
		t.Fatal(err)
	}
	defer observed.Close()
	user := `{"name": "user", "shape": [2], "datatype": "BYTES", "data": ["u1", "u2"]}`
	all := user + "," + strings.Replace(user, "user", "tags", 1) +
		`,{"name": "price", "shape": [2], "datatype": "FP32", "data": [1, 2]}`
	for _, c := range []struct {
		model, inputs string
		status        int
	}{{"tandem", all, 200}, {"tandem", all, 200}, {"tandem", user, 400}, {"other", all, 404},
		{"tandem", strings.Repeat(" ", 3000), 413}} {
		w := httptest.NewRecorder()
		s.handler(2000).ServeHTTP(w, httptest.NewRequest("POST", "/v2/models/"+c.model+"/infer",
			strings.NewReader(`{"inputs": [`+c.inputs+`]}`)))
		if w.Code != c.status {
			t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
		}
	}
	r, err := http.Get(observed.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tandem_requests_total{protocol="http",status="200"} 2`,
		`tandem_requests_total{protocol="http",status="400"} 1`,
		`tandem_requests_total{protocol="http",status="404"} 1`,
		`tandem_requests_total{protocol="http",status="413"} 1`,
		"tandem_request_seconds_count 5", "tandem_predicted_rows_total 4",
		"tandem_batch_requests_sum 2", "tandem_batch_requests_count 2", "tandem_queued_requests 0",
		"tandem_served_model_step 1", `tandem_model_reloads_total{result="loaded"} 0`,
	} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// A port of metrics in use is an error.
func TestMetricsAddress(t *testing.T) {
	_, folder := save(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	code := run(ctx, []string{folder, "--http", "127.0.0.1:0", "--metrics-address", taken.Addr().String()},
		io.Discard, &stderr)
	if want := "--metrics-address: cannot listen on"; code != 1 || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, %s; want 1, %s", code, stderr.String(), want)
	}
}

// A row is counted once, also where it has predictions for two labels.
func TestRowsOfTwoLabelsAreCountedOnce(t *testing.T) {
	_, folder := saveWith(t, func(j *job.Job) {
		text, err := os.ReadFile(j.Data.Path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.NewReplacer("clicked\n", "clicked,bought\n", "0\n", "0,1\n", "1\n", "1,0\n").
			Replace(string(text))
		if err := os.WriteFile(j.Data.Path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		j.Data.CSV.FurtherLabels, j.Model.Heads = []string{"bought"}, make([]model.Head, 2)
	})
	s := newTestService(t, folder)
	r := httptest.NewRequest("POST", "/v2/models/tandem/infer", strings.NewReader(`{"inputs": [
		{"name": "user", "shape": [2], "datatype": "BYTES", "data": ["u1", "u2"]},
		{"name": "tags", "shape": [2], "datatype": "BYTES", "data": ["a1", "a2"]},
		{"name": "price", "shape": [2], "datatype": "FP32", "data": [1, 2]}]}`))
	r.SetPathValue("model", "tandem")
	w := httptest.NewRecorder()
	if rows, status := s.inferHTTP(w, r, 1000); rows != 2 || status != http.StatusOK {
		t.Errorf("%d rows, status %d: %s", rows, status, w.Body)
	}
}

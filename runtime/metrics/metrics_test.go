package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/evaluation"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/internal/pythontest"
	"tandem/runtime/watch"
)

// everything is a snapshot with a value of every metric.
func everything() *Snapshot {
	rank := msg.Address{Role: msg.NNWorker, Index: 1}
	roles := NewRoles([]msg.Address{rank, {Role: msg.EmbeddingWorker}})
	roles.Trained(3, 2)
	for _, e := range []struct {
		kind event.Kind
		step int32
		at   unit.Tick
	}{{event.LookupIssued, 0, 0}, {event.LookupIssued, 1, 1}, {event.EmbeddingsArrived, 0, 3},
		{event.EmbeddingsArrived, 1, 6}} {
		roles.Observe(event.Record{Role: rank, Kind: e.kind, At: e.at * unit.Second, Step: e.step})
	}
	roles.Observe(event.Record{Role: msg.Address{Role: msg.EmbeddingWorker}, Kind: event.BatchRouted,
		Rows: []int32{4, 5}})
	s := new(Snapshot)
	new(Server).process(s, "train", `a "quoted" \ name`+"\nof two lines")
	roles.Collect(s)
	for _, m := range []*Metric{Trainings, TrainingsDone, RowMemory} {
		s.Add(m, 1)
	}
	AddTraining(s, watch.Now{Steps: 3, StepsInAll: 7, Samples: 30, Seconds: 2, Loss: 0.25,
		SamplesPerSecond: math.Inf(1)}, "mode", "sync", "seed", "1")
	s.Add(AUC, math.NaN(), "mode", "sync")
	s.Add(LogLoss, 0.5, "mode", "sync")
	s.Add(Evaluation, 3, "mode", "sync")
	AddEvaluation(s, evaluation.Point{Scores: evaluation.Scores{RMSE: 2, R2: 0.5}}, "mode", "numbers")
	AddGPU(s, GPU{Name: "A100", UUID: "5e3a", Utilisation: 0.5, MemoryUsed: 2, Memory: 4, Power: 300,
		PowerLimit: 400, Temperature: 60, Clock: 1e9, MemoryClock: math.NaN(),
		Limits: []string{"sw-power-cap"}})
	s.Add(Requests, 2, "protocol", "http", "status", "200")
	s.AddSummary(RequestTime, 0.5, 2)
	s.Add(PredictedRows, 60)
	s.AddSummary(BatchRequests, 2, 1)
	s.Add(QueuedRequests, 0)
	s.Add(ServedStep, 100)
	s.Add(ServedAge, 1)
	s.Add(Reloads, 1, "result", "loaded")
	s.Add(ChangedRows, 1)
	var refused Refused
	refused.Count("expired")
	refused.Count("expired")
	refused.Collect(s)
	s.AddSummary(ServeDelay, 1, 1)
	return s
}

// The text of a few metrics, line by line.
func TestText(t *testing.T) {
	var text strings.Builder
	if err := everything().Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# HELP tandem_training_loss_nats Mean training loss of a sample in the latest steps. " +
			"A squared loss is ½ (error / scale)² instead.\n" +
			"# TYPE tandem_training_loss_nats gauge\n" +
			`tandem_training_loss_nats{mode="sync",seed="1"} 0.25` + "\n",
		// GE took 3 s and 5 s.
		"# TYPE tandem_stage_seconds summary\n" +
			`tandem_stage_seconds_sum{role="nn-worker",index="1",stage="GE"} 8` + "\n" +
			`tandem_stage_seconds_count{role="nn-worker",index="1",stage="GE"} 2` + "\n",
		`tandem_events_total{role="nn-worker",index="1",kind="lookup-issued"} 2` + "\n",
		`tandem_rows_routed_total{role="embedding-worker",index="0"} 9` + "\n",
		`commit="a \"quoted\" \\ name\nof two lines"`, "_per_second{mode=\"sync\",seed=\"1\"} +Inf\n",
		`tandem_gpu_clock_hertz{gpu="5e3a",name="A100",of="multiprocessors"} 1e+09` + "\n# HELP ",
		`tandem_refused_total{reason="expired"} 2` + "\n",
		"tandem_loss_nats_total 3\n", "tandem_trained_samples_total 2\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// Names are Prometheus's: counters and only these end in _total, and every metric says what it is. Every
// metric is written somewhere.
func TestNames(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	written := everything()
	var names []string
	for _, m := range All() {
		if !name.MatchString(m.Name) || strings.HasSuffix(m.Name, "_total") != (m.Kind == Counter) ||
			len(m.Help) < 10 || slices.Contains(names, m.Name) {
			t.Errorf("%+v", m)
		}
		names = append(names, m.Name)
		if len(written.samples[m]) == 0 {
			t.Errorf("nothing writes %s", m.Name)
		}
	}
}

const parser = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families
out = {}
for f in text_string_to_metric_families(sys.stdin.read()):
    for s in f.samples:
        out[s.name + json.dumps(s.labels, sort_keys=True)] = [f.type, f.documentation, str(s.value)]
print(json.dumps(out))
`

// The parser of Prometheus's own client for Python reads every value with its labels.
func TestPrometheusReads(t *testing.T) {
	python := pythontest.With(t, "prometheus_client")
	var text strings.Builder
	s := everything()
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	out := python.Run(t, strings.NewReader(text.String()), "-c", parser)
	var read map[string][3]string
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	count := 0
	for _, samples := range s.samples {
		count += len(samples)
	}
	if len(read) != count {
		t.Errorf("%d values read, %d written", len(read), count)
	}
	for key, want := range map[string][3]string{
		`tandem_training_loss_nats{"mode": "sync", "seed": "1"}`: {"gauge", Loss.Help, "0.25"},
		`tandem_stage_seconds_sum{"index": "1", "role": "nn-worker", "stage": "GE"}`: {"summary",
			StageTime.Help, "8"},
		`tandem_loss_nats_total{}`:              {"counter", LossSum.Help, "3"},
		`tandem_evaluation_auc{"mode": "sync"}`: {"gauge", AUC.Help, "nan"},
	} {
		if read[key] != want {
			t.Errorf("%s is %q, want %q", key, read[key], want)
		}
	}
	if !strings.Contains(string(out), `a \\\"quoted\\\" \\\\ name\\nof two lines`) {
		t.Errorf("a label with quotes and line ends is not read back: %s", out)
	}
}

// A server answers metrics, health and profiles; a port in use is an error.
func TestServe(t *testing.T) {
	s, err := Serve("127.0.0.1:0", "train", "unknown", func(to *Snapshot) { to.Add(Trainings, 2) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for path, want := range map[string]string{
		"/metrics": "tandem_trainings 2\n", "/healthz": "ok\n",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		answer, err := http.Get(strings.TrimSuffix(s.URL(), "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %q", path, answer.Status, text)
		}
	}
	for _, step := range []struct {
		set  func()
		code int
		want string
	}{
		{func() {}, http.StatusOK, "ok\n"},
		{func() { s.SetNotReady("waiting for nn-worker 1") }, http.StatusServiceUnavailable,
			"waiting for nn-worker 1\n"},
		{s.SetReady, http.StatusOK, "ok\n"},
	} {
		step.set()
		answer, err := http.Get(strings.TrimSuffix(s.URL(), "/metrics") + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != step.code || string(text) != step.want {
			t.Errorf("/readyz: %s, %q; want %d, %q", answer.Status, text, step.code, step.want)
		}
	}
	if _, err := Serve(s.listener.Addr().String(), "train", "", nil); err == nil {
		t.Error("two servers at one address")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("served after Close")
	}
}

// Profiles are answered to clients on this machine alone.
func TestProfilesAreForThisMachine(t *testing.T) {
	s, err := Serve("127.0.0.1:0", "train", "unknown", func(*Snapshot) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for from, want := range map[string]int{"127.0.0.1:9": http.StatusOK, "[::1]:9": http.StatusOK,
		"[::ffff:127.0.0.1]:9": http.StatusOK, "192.0.2.1:9": http.StatusForbidden,
		"[2001:db8::1]:9": http.StatusForbidden, "": http.StatusForbidden} {
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
			r.RemoteAddr = from
			if s.server.Handler.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s from %q: status %d, want %d", path, from, w.Code, want)
			}
		}
	}
}

// Stages of batches that never end do not add up in memory.
func TestStagesInProgressAreBounded(t *testing.T) {
	rank := msg.Address{Role: msg.NNWorker}
	roles := NewRoles([]msg.Address{rank})
	for step := range 3 * stagesMax {
		roles.Observe(event.Record{Role: rank, Kind: event.GradientsSent, Step: int32(step)})
	}
	if n := len(roles.stages[rank].began); n > stagesMax {
		t.Errorf("%d stages in progress are kept", n)
	}
}

func Example() {
	var s Snapshot
	s.Add(Steps, 100, "mode", "sync")
	var text strings.Builder
	_ = s.Write(&text)
	fmt.Print(text.String())
	// Output:
	// # HELP tandem_training_steps Steps of the training, from begin to end.
	// # TYPE tandem_training_steps gauge
	// tandem_training_steps{mode="sync"} 100
}

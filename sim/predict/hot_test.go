package predict_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/sim/cluster"
	"tandem/sim/predict"
)

// Many rows on every rank cost time in the all-reduce. Where no row is frequent enough, the speed is
// that of hybrid without hot rows; hot.most bounds the rows.
func TestSpeedFallsWithTheRowsOnTheRanks(t *testing.T) {
	speed := func(set map[string]string) (rows, throughput float64) {
		j := choose(t, predict.Choice{Preset: "persia-paper", GPUs: 8, Set: set})
		if j.Workload.Hot != nil {
			rows = j.Workload.Hot.Rows
		}
		return rows, run(t, j, predict.Options{Steps: 8}).Mid.Throughput
	}
	_, plain := speed(nil)
	none, without := speed(map[string]string{"hot.share": "1"})
	some, few := speed(map[string]string{"hot.share": "0.1"})
	many, slow := speed(map[string]string{"hot.share": "0.00001"})
	limited, faster := speed(map[string]string{"hot.share": "0.00001", "hot.most": "1000"})
	if none != 0 || without != plain || !(some > 10 && some < 1000 && many > 50_000) || limited != 1000 {
		t.Errorf("%v, %v and %v hot rows, %v of at most 1000; speed %v, %v without hot rows", none, some,
			many, limited, without, plain)
	}
	if !(few > slow && faster > slow) {
		t.Errorf("%v hot rows: %v samples/s; %v: %v; %v: %v", some, few, many, slow, limited, faster)
	}
}

// The price of finding hot rows is a parameter of jobs with hot rows alone, and can be set. Points of the box
// have hot rows of their own where the popularity is not known.
func TestParametersOfHotRows(t *testing.T) {
	const name = "system.embedding-worker.hot-id-time"
	plain := choose(t, predict.Choice{Model: "criteo-syn-100t"})
	hot := choose(t, predict.Choice{Model: "criteo-syn-100t", Hot: job.Hot{Share: 0.001},
		Set: map[string]string{name: "50ns"}})
	if slices.Contains(plain.Parameters().Names(), name) {
		t.Errorf("%s is a parameter of a job without hot rows", name)
	}
	e, err := hot.Parameters().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, mid, _ := e.Span(); mid != 50 {
		t.Errorf("%s = %v, want 50", name, mid)
	}
	if n := len(hot.Parameters()); n != len(plain.Parameters())+1 {
		t.Errorf("%d parameters, %d without hot rows", n, len(plain.Parameters()))
	}
	worse := hot.At(hot.Parameters().Everywhere(-1))
	if rows := worse.Workload.Hot.Rows; rows == hot.Workload.Hot.Rows || rows == 0 {
		t.Errorf("%v hot rows at the worse end, as many as in the middle", rows)
	}
}

// Stored results have the hash of choices as YAML: hot rows are not in those without.
func TestChoicesWithoutHotRowsStayAsTheyWere(t *testing.T) {
	text, err := yaml.Marshal(predict.Choice{Preset: "persia-paper"})
	if err != nil || strings.Contains(string(text), "hot") {
		t.Errorf("%s, %v", text, err)
	}
}

// A share that is set replaces what the job says of hot rows, 0 all of it. A model has no data from which a
// share could be chosen.
func TestSetHotReplacesWhatTheJobSays(t *testing.T) {
	auto := job.Hot{Auto: true}
	for _, c := range []struct {
		hot  job.Hot
		set  map[string]string
		want job.Hot
	}{
		{auto, map[string]string{"hot.share": "0.01"}, job.Hot{Share: 0.01}},
		{auto, map[string]string{"hot.share": "0"}, job.Hot{}},
		{auto, map[string]string{"hot.most": "7"}, job.Hot{Auto: true, Most: 7}},
		{job.Hot{Share: 0.1, Most: 5, Every: 9, Slots: []string{"user"}},
			map[string]string{"hot.share": "0"}, job.Hot{}},
		{job.Hot{Share: 0.1, Most: 5}, map[string]string{"hot.share": "0.2"}, job.Hot{Share: 0.2, Most: 5}},
	} {
		c.set["other"] = "1"
		got := c.hot
		others, err := predict.SetHot(&got, c.set)
		if err != nil || !reflect.DeepEqual(got, c.want) || len(others) != 1 {
			t.Errorf("%+v with %v: %+v, others %v, %v; want %+v", c.hot, c.set, got, others, err, c.want)
		}
	}
	for _, hot := range []job.Hot{auto, {Slots: []string{"user"}}} {
		_, _, err := predict.New(predict.Choice{Model: "avazu", Hot: hot})
		if !errors.Is(err, predict.ErrChoice) || !strings.Contains(err.Error(), "set hot.share") {
			t.Error(err)
		}
	}
}

// What a pause costs the pipeline is what two trainings take longer than one with the steps of both. The time
// to count is that of the samples, and the time to move that of the rows.
func TestPauseForHotRows(t *testing.T) {
	for _, mode := range []string{job.Hybrid, job.Sync} {
		c := predict.Choice{GPUs: 8, Mode: mode, Hot: job.Hot{Share: 0.001, Every: 10}}
		j := choose(t, c)
		pause, err := predict.PauseForHotRows(j, nil)
		if err != nil {
			t.Fatal(err)
		}
		run := func(measured int) cluster.Result {
			r, err := cluster.Run(j.Hardware, j.Job, j.Layout, j.Workload, cluster.Options{Observer: toEnd{},
				WarmUp: 20, Measured: measured})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		depth := j.Job.Depth()
		short, long := run(40), run(40+60+depth)
		lost, step := 2*short.Elapsed-long.Elapsed, long.StepTime
		if d := math.Abs((pause.Pipeline - lost).Seconds()); pause.Pipeline <= 0 || d > 0.1*step.Seconds() {
			t.Errorf("%s: %v of the pipeline, but a cut costs %v; a step takes %v", mode, pause.Pipeline,
				lost, step)
		}
		if pause.Every != 10 || pause.Count <= 0 || pause.Rows <= 0 {
			t.Errorf("%s: %+v", mode, pause)
		}
		c.Hot.Every = 20 // 20 steps of 4,096 samples; a row in a thousandth is found 100 times in 100,000
		twice, err := predict.PauseForHotRows(choose(t, c), nil)
		if err != nil || math.Abs(float64(twice.Count)/float64(pause.Count)-2) > 0.01 ||
			twice.Rows != pause.Rows {
			t.Errorf("%s: %+v and %+v, %v", mode, pause, twice, err)
		}
		c.Hot.Every = 0
		if none, err := predict.PauseForHotRows(choose(t, c), nil); none != nil || err != nil {
			t.Errorf("%s: %+v, %v", mode, none, err)
		}
	}
}

// toEnd is an observer for which a run is simulated to its end.
type toEnd struct{}

func (toEnd) Observe(event.Record) {}

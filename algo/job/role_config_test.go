package job_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
	"tandem/algo/unit"
)

func layoutOf(t *testing.T) *model.Layout {
	t.Helper()
	return &model.Layout{Params: 10, Buckets: []model.Bucket{{Lo: 4, Hi: 10}, {Lo: 0, Hi: 4}}}
}

// A job's faults make roles ask again, and only then messages may be lost.
func TestRoleConfigRetriesWithFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults string
		retry  unit.Tick
		want   unit.Tick
	}{
		{"no faults", "none", 0, 0},
		{"faults", "drop=0.01", 0, 100 * unit.Millisecond},
		{"a retry of the job's own", "drop=0.01", unit.Second, unit.Second},
		{"without faults", "none", unit.Second, unit.Second},
	} {
		training := job.Default()
		var err error
		if training.Faults, err = fault.Parse(c.faults); err != nil {
			t.Fatal(err)
		}
		training.Wire.Retry = c.retry
		cfg, err := training.RoleConfig(layoutOf(t), 0, 5)
		if err != nil || cfg.Retry != c.want {
			t.Errorf("%s: retry %v, %v; want %v", c.name, cfg.Retry, err, c.want)
		}
		if len(cfg.Buckets) != 2 || cfg.Buckets[0] != 24 || cfg.Steps != 5 {
			t.Errorf("%s: %+v", c.name, cfg)
		}
	}
}

// The section of a job file, and what is wrong with one, by its key.
func TestFaultsSection(t *testing.T) {
	good := "faults: {seed: 1, drop: 0.01, duplicate: 0.01, reorder: 16, delay: {rate: 0.01, max: 50ms}, " +
		"crashes: [{role: embedding-worker, index: 0, step: 40, away: 2s}]}"
	training := job.Default()
	if err := job.Decode([]byte(good), "job.yaml", &training); err != nil {
		t.Fatal(err)
	}
	const want = "drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms,crash=embedding-worker/0@40+2s,seed=1"
	if training.Faults.String() != want {
		t.Errorf("read %s, want %s", training.Faults, want)
	}
	for text, want := range map[string]string{
		"faults: {loss: 0.1}":              `faults: unknown key "loss"`,
		"faults: {drop: 2}":                "faults.drop = 2",
		"faults: {crashes: [{role: gpu}]}": "faults.crashes[0].role: unknown role",
		"faults: {crashes: [{role: nn-worker, step: 1}]}\nroles: {ranks: 1}": "faults.crashes[0].role = " +
			"nn-worker: no other rank has its parameters",
		"wire: {retry: 2h}": "wire.retry = 2h",
		"faults: {crashes: [{role: coordinator}]}": "faults.crashes[0].role = coordinator: the " +
			"mode has no such role",
		"faults: {crashes: [{role: data-loader, index: 1}]}": "faults.crashes[0].index = 1; the job has 1",
	} {
		training := job.Default()
		err := job.Decode([]byte(text), "job.yaml", &training)
		if err == nil {
			err = training.Validate()
		}
		if err == nil {
			_, err = training.RoleConfig(layoutOf(t), 0, 5)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Batch-norm statistics are part of the sizes of what travels: those of a rank's groups with gradients, the
// running ones with parameters and averages.
func TestStatisticsAreCountedInMessages(t *testing.T) {
	layout := layoutOf(t) // 10 parameters in buckets of 6 and 4
	layout.Running, layout.Stats = 3, 5
	for mode, want := range map[string][]unit.Bytes{ // buckets, then pulls, then pushes of each dense PS
		job.Hybrid:       {24, 16 + 2*5*4},
		job.AsyncAverage: {24, 16 + 3*4},
		job.AsyncPS:      {24, 16 + 2*5*4, 20 + 3*4, 20, 20 + 2*5*4, 20},
	} {
		training := job.Default().InMode(mode)
		training.Roles.Ranks, training.Training.Groups, training.Roles.DensePSs = 4, 8, 2
		cfg, err := training.RoleConfig(layout, 0, 5)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Concat(cfg.Buckets, cfg.DensePSs, cfg.Pushes); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}

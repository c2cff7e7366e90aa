package predict_test

import (
	"errors"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// choose returns the job of a choice and fails the test on an error.
func choose(t *testing.T, c predict.Choice) *predict.Job {
	t.Helper()
	j, _, err := predict.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// 100 T values of 2 bytes and 24 bytes of each row of 16 are 350 TB, on hosts of 353 TB; 4 bytes are too
// many, and so are fewer hosts.
func TestPersia100TFitsInHalfPrecisionOnly(t *testing.T) {
	half := choose(t, predict.Choice{Preset: "persia-gcp"})
	if half.Roles.Ranks != 64 || half.Training.GlobalBatch != 64*512 {
		t.Errorf("%d ranks, %d samples a step; want 64 and 32768", half.Roles.Ranks,
			half.Training.GlobalBatch)
	}
	run(t, half, predict.Options{Steps: 2})
	single := choose(t, predict.Choice{Preset: "persia-gcp", RowPrecision: "fp32"})
	few := choose(t, predict.Choice{Preset: "persia-gcp", Set: map[string]string{"embedding-ps.count": "10"}})
	for name, j := range map[string]*predict.Job{"fp32": single, "10 hosts": few} {
		_, err := predict.Run(t.Context(), j, predict.Options{Steps: 2})
		if !errors.Is(err, cost.ErrMemory) {
			t.Errorf("%s: error %v, want %v", name, err, cost.ErrMemory)
		}
		t.Log(err)
	}
}

// Any number of ranks can be timed, also in sync.
func TestAnyNumberOfGPUs(t *testing.T) {
	for _, gpus := range []int{3, 24, 112} {
		p := run(t, choose(t, predict.Choice{Mode: job.Sync, GPUs: gpus}), predict.Options{Steps: 2})
		if p.Mid.Throughput <= 0 {
			t.Errorf("%d GPUs: %v samples/s", gpus, p.Mid.Throughput)
		}
	}
}

func TestBadChoicesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		choice predict.Choice
		want   string
	}{
		"preset":      {predict.Choice{Preset: "persia-gpc"}, `nearest is "persia-gcp"`},
		"model":       {predict.Choice{Model: "criteo-syn-100"}, `nearest is "criteo-syn-100t"`},
		"system":      {predict.Choice{System: "persia"}, `"persia-2021"`},
		"accelerator": {predict.Choice{Accelerator: "A100"}, `"A100-SXM4-40GB"`},
		"wire": {predict.Choice{Accelerator: "L4", Inside: "nvlink3"},
			"needs accelerators with nvlink"},
		"parameter": {predict.Choice{Set: map[string]string{"embedding-ps.core": "3"}},
			`nearest is "embedding-ps.cores"`},
		"unit": {predict.Choice{Set: map[string]string{"server.network": "25"}}, "unit"},
		"mode": {predict.Choice{Mode: "hybird"}, `nearest is "hybrid"`},
		"mode of a step graph": {predict.Choice{Preset: "dgx-h100", Mode: job.Hybrid},
			"want sync"},
		"no host": {predict.Choice{Preset: "dgx-h100", System: "tandem"},
			"has no hosts for embedding workers"},
		"batch":     {predict.Choice{GlobalBatch: 4, GPUs: 8}, "at least one each"},
		"negative":  {predict.Choice{GlobalBatch: -4}, "at least 1"},
		"gpus":      {predict.Choice{GPUs: -1}, "want 1 to"},
		"two sizes": {predict.Choice{GlobalBatch: 64, BatchPerGPU: 8}, "one of the two"},
		"rows":      {predict.Choice{RowPrecision: "fp8"}, "want fp32, fp16 or bf16"},
		"products":  {predict.Choice{Precision: "fp8"}, "want fp32, tf32 or half"},
		"share":     {predict.Choice{Set: map[string]string{"network.share": "2"}}, "network.share"},
		"many":      {predict.Choice{Set: map[string]string{"embedding-ps.count": "1000000000"}}, "at most"},
		"hot share": {predict.Choice{Set: map[string]string{"hot.share": "2"}}, `hot.share = "2"; want`},
		"hot most": {predict.Choice{Set: map[string]string{"hot.share": "0.1", "hot.most": "few"}},
			`hot.most = "few"; want`},
		"hot without share": {predict.Choice{Set: map[string]string{"hot.most": "9"}},
			"rows.hot.most = 9 needs a share"},
		"hot in async-ps": {predict.Choice{Mode: job.AsyncPS, Hot: job.Hot{Share: 0.1}},
			"use sync or hybrid instead of async-ps"},
		"hot on a step graph": {predict.Choice{Preset: "dgx-h100", Hot: job.Hot{Share: 0.1}},
			"rows.hot needs a system with embedding PSs, and hugectr keeps all rows on the accelerators"},
		"hot and derived": {predict.Choice{Model: "mlperf-dcnv2", Hot: job.Hot{Share: 0.1}},
			"depend on each other"},
		"zero hosts": {predict.Choice{Set: map[string]string{"embedding-ps.count": "0"}}, "want more than 0"},
	} {
		_, _, err := predict.New(test.choice)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

// Another accelerator brings its own wires, and the notes say what stays.
func TestAcceleratorBringsItsWires(t *testing.T) {
	j, notes, err := predict.New(predict.Choice{Accelerator: "A100-SXM4-40GB"})
	if err != nil {
		t.Fatal(err)
	}
	if j.Hardware.Inside.Name != "nvlink3" || len(notes) != 1 || !strings.Contains(notes[0], "persia-paper") {
		t.Errorf("%s inside, notes %q", j.Hardware.Inside.Name, notes)
	}
}

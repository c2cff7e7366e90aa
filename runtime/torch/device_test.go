package torch_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/internal/moduletest"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

// Ranks take the GPUs of a job in turn before their first pass. What reads a saved model, has no ranks, or
// writes the network, takes none.
func TestRanksTakeDevicesInTurn(t *testing.T) {
	moduletest.Use(t)
	var said bytes.Buffer
	m := torch.FromEnvironment(&said)
	data := newSamples(10 * globalBatch)
	j := jobOf(t, "Net", job.Sync, 4)
	j.Model.Spec = moduletest.Spec(dim, moduletest.Fault{})
	j.Model.Class = moduletest.Drawn
	var digests []uint64
	for _, device := range []job.Device{{}, {CUDA: true, Ordinals: []int{3, 5}}, {CUDA: true}} {
		j.Model.Device = device
		got, err := train.Run(t.Context(), j, data, data.all,
			train.Options{Backend: backend.Backend{Torch: m.Engine}})
		if err != nil {
			t.Fatalf("%v: %v", device, err)
		}
		digests = append(digests, got.DenseDigest)
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("dense %x by device", digests)
	}
	j.Model.Device.Ordinals = []int{7} // no process has computed there
	type maker = func(*job.Job, *batch.Schema) (model.Engine, error)
	for _, made := range []maker{m.SavedEngine, m.HostEngine} {
		e, err := made(&j, data.schema)
		if err != nil {
			t.Fatal(err)
		}
		e.NewPass(1) // is in no line
	}
	if graph, err := m.Graph(&j, data.schema); err != nil || len(graph) == 0 {
		t.Errorf("a graph of %d bytes, %v", len(graph), err)
	}
	m.Close()
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	slices.Sort(lines)
	want := []string{"rank 0 on cuda", "rank 0 on cuda:3", "rank 1 on cuda", "rank 1 on cuda:5",
		"rank 2 on cuda", "rank 2 on cuda:3", "rank 3 on cuda", "rank 3 on cuda:5"}
	for i := range want {
		want[i] = torch.Prefix + want[i]
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

// A module whose values are copied to a device and back has the bits of one that shares the memory of
// Tandem, with batch norm and dropout; with -long also with raw slots and with a loss of its own. A torch
// without CUDA is one sentence.
func TestCopiesOnADeviceHaveTheSameBits(t *testing.T) {
	m := modules(t)
	const steps = 12
	cases := []struct {
		job  job.Job
		data *samples
	}{{jobOf(t, "Noisy", job.Sync, 2), newSamples(steps * globalBatch)}}
	if *long {
		cases = append(cases, []struct {
			job  job.Job
			data *samples
		}{
			{exampleJob(t, "examples/din.py", "DIN", nil), clicks(steps*globalBatch, true).oneLabel()},
			{exampleJob(t, "examples/two_tower.py", "TwoTower", nil),
				clicks(steps*globalBatch, false).oneLabel()},
		}...)
	}
	for _, c := range cases {
		var want *train.Result
		for _, machine := range []backend.Backend{{Torch: m.Engine}, {Torch: m.EngineOn("cpu")}} {
			got, err := train.Run(t.Context(), c.job, c.data, c.data.all, train.Options{Backend: machine})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
				got.AUC != want.AUC {
				t.Errorf("%s: AUC %v, dense %x; without copies %v, %x", c.job.Model.Class, got.AUC,
					got.DenseDigest, want.AUC, want.DenseDigest)
			}
		}
	}
	if _, err := os.Stat("/dev/nvidia0"); err == nil {
		return
	}
	j := jobOf(t, "Net", job.Sync, 1)
	j.Model.Device.CUDA = true
	_, err := m.Engine(&j, newSamples(0).schema)
	want(t, err, "finds no GPU that it can use; install a torch with CUDA, or set model.device to cpu")
}

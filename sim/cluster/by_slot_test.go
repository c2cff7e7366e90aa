package cluster

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// slotsOnGPU of the 26 slots of clicks have their rows on GPUs, where a test does not say how many.
const slotsOnGPU = 10

// clicksBySlot is clicks with its 26 slots, of one id a sample each, and equal parts of the rows.
func clicksBySlot() cost.Workload {
	w := clicks()
	w.Slots = 26
	for i := range w.Slots {
		w.Groups = append(w.Groups, cost.GroupRows{Slots: []string{fmt.Sprint("slot", i)}, Occurrences: 1,
			Named: 1, Rows: w.Rows / 26, Width: 16,
			Distinct: func(samples int) float64 { return w.Distinct(samples) / 26 }})
	}
	return w
}

// bySlot is training with the rows of the first slots on the accelerators of the ranks, and those of the
// others on PSs.
func bySlot(mode string, ranks, onGPU int) job.Job {
	j := onGPUs(mode, ranks)
	for i := onGPU; i < 26; i++ {
		own := job.SlotSetting{Slot: fmt.Sprint("slot", i), Placement: job.RowsOnPSs}
		j.Data.Slots = append(j.Data.Slots, own)
	}
	return j
}

// runBySlot simulates a job on the rows of clicksBySlot.
func runBySlot(t *testing.T, j job.Job) Result {
	t.Helper()
	c := gpuCluster()
	c.Unfold = true
	r, err := Run(hardwareOf(t, c), j, tower(t), clicksBySlot(), Options{check: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A job whose setting for a slot that its data do not have is the only one at the other place costs what the
// same job costs with rows.placement alone. Where no slot is on a GPU, the kernels are still launched on
// nothing, in the forward pass and behind the backward pass.
func TestRowsBySlotCostAtBothEndsWhatRowsInOnePlaceCost(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		for _, ranks := range []int{1, 2} {
			j := onGPUs(mode, ranks)
			want := runBySlot(t, j)
			j.Data.Slots = []job.SlotSetting{{Slot: "none", Placement: job.RowsOnPSs}}
			if got := runBySlot(t, j); got.StepTime != want.StepTime || got.Bytes != want.Bytes ||
				got.RowBytes != want.RowBytes || want.RowBytes == 0 && ranks > 1 {
				t.Errorf("%s, %d ranks, all on GPUs: %v, %d B and %d B, want %v, %d and %d", mode, ranks,
					got.StepTime, got.Bytes, got.RowBytes, want.StepTime, want.Bytes, want.RowBytes)
			}
			j.Rows.Placement, j.Data.Slots[0].Placement = "", job.RowsOnGPU
			got := runBySlot(t, j)
			if want = runBySlot(t, training(mode, ranks)); got.Bytes != want.Bytes || got.RowBytes != 0 {
				t.Errorf("%s, %d ranks, all on PSs: %d and %d B, want %d and 0", mode, ranks, got.Bytes,
					got.RowBytes, want.Bytes)
			}
			if ranks > 1 {
				continue // an exchange of nothing has waits
			}
			h, layout, w := hardwareOf(t, gpuCluster()), tower(t), clicksBySlot()
			p := cost.NewPrices(h.Resolve(), &j, layout, &w, true)
			g := p.Batch(512).Rows
			more := g.Find.Host + g.Find.Kernels + g.Update.Host + g.Update.Kernels +
				p.HostLinkWire.Time(g.Staged)
			if d := got.StepTime - want.StepTime - more; d < -20 || d > 20 || g.Columns.Launches > 0 {
				t.Errorf("%s, all on PSs: a step takes %v, and without kernels for none %v, want %v less",
					mode, got.StepTime, want.StepTime, more)
			}
		}
	}
}

// carriedByPSs returns the bytes that the cards of all PS hosts carry in 30 steps of a job.
func carriedByPSs(t *testing.T, j job.Job) (bytes float64) {
	t.Helper()
	c := gpuCluster()
	c.Unfold = true
	h, layout, clicks := hardwareOf(t, c), tower(t), clicksBySlot()
	p := cost.NewPrices(h.Resolve(), &j, layout, &clicks, false)
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
	cfg, err := j.RoleConfig(layout, 0, 30)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newSimulation(p, cfg, &Options{check: true})
	if err != nil {
		t.Fatal(err)
	}
	w.measurement, w.contract = newMeasurement(span{10, 10, 1, 30}, cfg), newContractCheck(w)
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	for i := range w.hosts {
		if h := &w.hosts[i]; h.class == parameterHosts {
			card := w.graph.HostCards(h.node)[0]
			bytes += w.net.Carried(w.clock.Now(), card) + w.net.Carried(w.clock.Now(), card+1)
		}
	}
	return bytes
}

// A slot that moves from PSs to GPUs takes its bytes along, and no others: of each distinct row, two signs,
// its values and its gradient leave the links of PSs, and a sign, values and gradient are exchanged by ranks.
// Of each sample, the pooled values and their gradients leave the way to the rank, which gets an id instead.
func TestASlotThatMovesTakesItsBytesAlong(t *testing.T) {
	const ranks, steps = 2, 30
	distinct := clicks().Distinct(512) / 26
	for _, mode := range []string{job.Sync, job.Hybrid} {
		for _, onGPU := range []int{1, 12, 24} {
			before, after := bySlot(mode, ranks, onGPU), bySlot(mode, ranks, onGPU+1)
			a, b := runBySlot(t, before), runBySlot(t, after)
			ofPSs := distinct * (2*8 + 2*64)
			pssBefore, pssAfter := carriedByPSs(t, before), carriedByPSs(t, after)
			// Each PS gets and sends whole bytes in four messages for each rank.
			whole := 0.5 * 4 * ranks * float64(pss(t))
			if got, want := (pssBefore-pssAfter)/steps, ranks*ofPSs; math.Abs(got-want) > whole {
				t.Errorf("%s, %d slots: links of PSs carry %.1f B a step less, want %.1f", mode, onGPU, got,
					want)
			}
			want := ranks * (ofPSs + 512*(2*16*4-8))
			if got := float64(a.Bytes - b.Bytes); math.Abs(got-want) > whole+4 {
				t.Errorf("%s, %d slots: %.0f B a step less, want %.0f", mode, onGPU, got, want)
			}
			want = ranks * distinct * (8 + 2*64)
			if got := float64(b.RowBytes - a.RowBytes); math.Abs(got-want) > 3*ranks {
				t.Errorf("%s, %d slots: %.0f B more are exchanged, want %.0f", mode, onGPU, got, want)
			}
			if mode == job.Sync && a.Staleness.Own.Max() > 0 {
				t.Errorf("%s, %d slots: %v", mode, onGPU, a.Staleness)
			}
		}
	}
}

// pss returns the number of PSs of gpuCluster.
func pss(t *testing.T) int {
	h := hardwareOf(t, gpuCluster()).Resolve()
	return h.PSHostCount * h.EmbeddingPSs.PerHost
}

// In sync, a slot waits for the slower of its ways: with a network that is a hundred times as slow it is
// faster on GPUs, and with kernels and a wire inside servers that are a hundred times as slow on PSs. Its
// place on PSs hurts less in hybrid, which hides that way.
func TestRowsBySlotFeelTheResourcesOfTheirWays(t *testing.T) {
	of := func(mode string, onGPU int, improve map[string]float64) unit.Tick {
		r, err := Run(hardwareOf(t, gpuCluster()), bySlot(mode, 4, onGPU), tower(t), clicksBySlot(),
			Options{Improve: improve})
		if err != nil {
			t.Fatal(err)
		}
		return r.StepTime
	}
	network := map[string]float64{"network bandwidth": 0.01}
	if few, many := of(job.Sync, 2, network), of(job.Sync, 24, network); many >= few {
		t.Errorf("a slow network: %v with 2 slots on GPUs, %v with 24", few, many)
	}
	gpus := map[string]float64{"accelerator": 0.001, "wire inside servers": 0.001}
	if few, many := of(job.Sync, 2, gpus), of(job.Sync, 24, gpus); many <= few {
		t.Errorf("slow GPUs: %v with 2 slots on GPUs, %v with 24", few, many)
	}
	if sync, hybrid := of(job.Sync, 2, nil), of(job.Hybrid, 2, nil); hybrid >= sync {
		t.Errorf("%v in hybrid, %v in sync", hybrid, sync)
	}
}

// A job that places rows by slot needs to know what each slot has.
func TestRowsBySlotNeedTheirGroups(t *testing.T) {
	_, err := Run(hardwareOf(t, gpuCluster()), bySlot(job.Sync, 2, 3), tower(t), clicks(), Options{})
	if err == nil || !strings.Contains(err.Error(), "no feature groups, and the job has the rows of some") {
		t.Errorf("error %v", err)
	}
}

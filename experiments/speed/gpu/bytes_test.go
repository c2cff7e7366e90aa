package gpu

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/kernels"
	"tandem/runtime/cuda/softgpu"
)

var long = flag.Bool("long", false, "count the bytes of the tower, too: a minute")

// product is the name of all matrix products together.
const product = "product"

// movedBy returns what the launches of one step move, by kernel. Gradients stay on the GPU.
func movedBy(t *testing.T, c testCase) map[string]softgpu.Moved {
	t.Helper()
	in, err := newInputs(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	j := new(plan).job(c.Precision)
	g, err := engine.Open(softgpu.Libraries(t), &j)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReplica(g, in, true)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]softgpu.Moved{}
	add := func(sign int64) {
		for _, name := range append(slices.Clone(kernels.Names()), product) {
			m, now := all[name], softgpu.MovedBy(t, name)
			all[name] = softgpu.Moved{Launches: m.Launches + sign*now.Launches, Read: m.Read + sign*now.Read,
				Written: m.Written + sign*now.Written}
		}
	}
	add(-1)
	if err := r.step(); err != nil {
		t.Fatal(err)
	}
	if err := r.Sync(); err != nil {
		t.Fatal(err)
	}
	add(1)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// total returns the launches of a step and the bytes that they read and write.
func total(of map[string]softgpu.Moved) (launches, bytes int64) {
	for _, m := range of {
		launches, bytes = launches+m.Launches, bytes+m.Read+m.Written
	}
	return launches, bytes
}

// The page has what a step launches, and what its launches read and write, as the software GPU counts both.
// They move a multiple of the number of samples, in chunks of 256, and something for the parameters: so steps
// of 512 and 1,024 samples say what one of 32,768 moves. The simulator prices about as many.
func TestPageHasTheBytesOfAStep(t *testing.T) {
	softgpu.Open(t, 1)
	softgpu.Set(t, "TANDEM_SOFTGPU_MOVED", "1")
	networks := []*pytorch.Network{pytorch.DLRM()}
	if *long {
		networks = append(networks, pytorch.Tower())
	}
	var rows []string
	for _, n := range networks {
		for _, precision := range []string{job.FP32, job.BF16} {
			row, bytes := fmt.Sprintf("| %s | %s |", n.Name, precision), [2]float64{}
			for i, samples := range []int{512, 1024} {
				c := testCase{Network: n, Batch: samples, Precision: precision}
				launches, moved := total(movedBy(t, c))
				if bytes[i] = float64(moved); i == 0 {
					row += fmt.Sprintf(" %d | %s |", launches, report.Three(bytes[i]/1e6))
				}
			}
			sample := (bytes[1] - bytes[0]) / 512
			rows = append(rows, row+fmt.Sprintf(" %s |", report.Three((bytes[0]+sample*(32_768-512))/1e6)))
			if share := sample / simulated(t, n, precision); share < 0.8 || share > 1.1 {
				t.Errorf("%s in %s: a sample moves %.0f bytes, %.2f of the simulator's", n.Name, precision,
					sample, share)
			}
		}
	}
	contains(t, "gpu.md", rows...)
}

// simulated returns the bytes that the simulator prices for a sample: its activations, of which bf16 has half
// the bytes, once in the forward pass and twice in the backward pass.
func simulated(t *testing.T, n *pytorch.Network, precision string) float64 {
	t.Helper()
	e, err := model.New(n.Spec(), n.Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 3 * float64(e.Layout().Cost.ActivationBytes)
	if precision == job.BF16 {
		bytes /= 2
	}
	return bytes
}

// In bf16, a value of a hidden layer costs 4 bytes and a bit for ReLU, instead of 8, and as many for its
// gradient with the sums that are the gradient of the bias, instead of 12. No value between two products is
// converted.
func TestHiddenValuesMoveHalfTheBytesInBF16(t *testing.T) {
	softgpu.Open(t, 1)
	softgpu.Set(t, "TANDEM_SOFTGPU_MOVED", "1")
	n := pytorch.Tower()
	hidden, samples := int64(0), int64(1024)
	for i := range n.Top {
		n.Top[i] /= 16
		hidden += int64(n.Top[i])
	}
	got := movedBy(t, testCase{Network: n, Batch: int(samples), Precision: job.BF16})
	most := 33 * hidden * samples / 8
	for _, name := range []string{"relu_bf16", "relu_backward_sums_bf16"} {
		m := got[name]
		// Pages at the ends of matrices count as a whole, and so do partial sums.
		moved := m.Read + m.Written
		if m.Launches == 0 || float64(moved) > 1.1*float64(most) {
			t.Errorf("%s moves %d bytes in %d launches, want at most %d", name, moved, m.Launches, most)
		}
	}
	// The parameters, embeddings, numbers, and the gradients of the logits.
	if m := got["to_bf16"]; m.Launches != 4 {
		t.Errorf("%d conversions to bf16, want 4", m.Launches)
	}
}

package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
)

// checkSteps is the number of steps whose losses are compared: those after the first depend on all updates
// before them.
const checkSteps = 3

// tolerances are the largest relative differences that count as the same arithmetic.
type tolerances struct {
	// Forward is that of the first loss, and of the gradient of the output layer in the Euclidean norm: they
	// show how operands are rounded.
	Forward float64
	// Gradient is that of the gradients of any layer. It is wider, because an input of a ReLU that rounding
	// moves across 0 changes the gradients of all layers before it.
	Gradient float64
	// Later is that of the losses after the first, which depend on these gradients.
	Later float64
}

// tolerancesOf returns the tolerances of a precision.
//
// Source: comparisons of Tandem with PyTorch 1.13, of all networks: on processors, at batches of 512 and
// 4,096 and full widths, in fp32 and bf16, and in all precisions at a quarter of the widths. The largest
// differences were 9·10⁻⁷, 2·10⁻³ and 1·10⁻⁵ in fp32, 4·10⁻⁴, 0.04 and 2·10⁻⁴ in tf32, and 5·10⁻³, 0.1 and
// 1·10⁻³ in bf16, for which only PyTorch kept results of products as bf16 then.
func tolerancesOf(precision string) tolerances {
	switch precision {
	case job.BF16:
		return tolerances{Forward: 0.02, Gradient: 0.2, Later: 0.01}
	case job.TF32:
		return tolerances{Forward: 2e-3, Gradient: 0.1, Later: 3e-3}
	}
	return tolerances{Forward: 2e-5, Gradient: 0.01, Later: 1e-3}
}

// first is what a side computes from the first parameters.
type first struct {
	losses    []float64 // means over the samples, of checkSteps steps
	gradients []float32 // of the parameters in the first step: sums over the samples
	pooled    []float32 // of the pooled embeddings
}

// firstSteps returns what Tandem computes. The replica is new, and its gradients travel to the host.
func (r *replica) firstSteps() (*first, error) {
	f := &first{}
	for range checkSteps {
		if err := r.step(); err != nil {
			return nil, err
		}
		f.losses = append(f.losses, r.loss())
		if f.gradients == nil {
			f.gradients, f.pooled = slices.Clone(r.Gradients().Values), slices.Clone(r.grads)
		}
	}
	return f, nil
}

// firstSteps returns what PyTorch computes in one of its ways.
func (w way) firstSteps(ctx context.Context, in *inputs) (*first, error) {
	path := filepath.Join(in.Files.Folder, "gradients")
	var got struct{ Losses []float64 }
	if err := w.Request(ctx, "check", map[string]any{"way": w.name, "gradients": path, "steps": checkSteps},
		&got); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values := make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.NativeEndian, values); err != nil {
		return nil, err
	}
	params := in.Engine.Layout().Params
	if want := params + len(in.Embeddings); len(values) != want || len(got.Losses) != checkSteps {
		return nil, fmt.Errorf("PyTorch has written %d gradients and %d losses, want %d and %d", len(values),
			len(got.Losses), want, checkSteps)
	}
	for i := range values { // those of the mean loss
		values[i] *= float32(in.Samples)
	}
	return &first{losses: got.Losses, gradients: values[:params], pooled: values[params:]}, nil
}

// agreement is how far PyTorch's first steps are from Tandem's: see tolerances.
type agreement struct {
	Forward  float64 `json:"forward"`
	Gradient float64 `json:"gradient"`
	At       string  `json:"at"` // the layer of this gradient
	Later    float64 `json:"later"`
	Within   bool    `json:"within"` // the tolerances
}

// compare returns how far two sides are from each other.
func compare(ours, theirs *first, l *model.Layout, precision string) agreement {
	var a agreement
	for i, loss := range ours.losses {
		apart := math.Abs(loss-theirs.losses[i]) / math.Abs(loss)
		if i == 0 {
			a.Forward = apart
		} else {
			a.Later = worse(a.Later, apart)
		}
	}
	// A layer is its weight and its bias, which lie side by side.
	name, apart := "", 0.0
	for i := 0; i < len(l.Tensors); {
		lo := l.Tensors[i].Lo
		name = layerOf(l.Tensors[i].Name)
		hi := lo
		for ; i < len(l.Tensors) && layerOf(l.Tensors[i].Name) == name; i++ {
			hi = l.Tensors[i].Hi
		}
		apart = distance(ours.gradients[lo:hi], theirs.gradients[lo:hi])
		a.add(name, apart)
	}
	a.Forward = worse(a.Forward, apart) // of the last layer
	a.add("the pooled embeddings", distance(ours.pooled, theirs.pooled))
	t := tolerancesOf(precision)
	a.Within = a.Forward <= t.Forward && a.Gradient <= t.Gradient && a.Later <= t.Later
	return a
}

// add adds the difference of the gradients of a layer.
func (a *agreement) add(layer string, apart float64) {
	if a.At == "" || math.IsNaN(apart) || apart > a.Gradient {
		a.Gradient, a.At = apart, layer
	}
}

// layerOf returns the name of the layer of a tensor.
func layerOf(tensor string) string {
	return strings.TrimSuffix(strings.TrimSuffix(tensor, ".weight"), ".bias")
}

// worse returns the larger of two differences; NaN is the largest, and no difference is within a tolerance
// then.
func worse(a, b float64) float64 {
	if math.IsNaN(a) || a > b {
		return a
	}
	return b
}

// distance returns the Euclidean norm of a − b ÷ the larger of their norms; 0 if both are 0.
func distance(a, b []float32) float64 {
	var apart, sizeA, sizeB float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		apart += d * d
		sizeA += float64(a[i]) * float64(a[i])
		sizeB += float64(b[i]) * float64(b[i])
	}
	if apart == 0 {
		return 0
	}
	return math.Sqrt(apart / max(sizeA, sizeB))
}

// String returns the differences in words.
func (a agreement) String() string {
	return fmt.Sprintf("the first loss and the output layer differ by %.1e, gradients of %s by %.1e, later "+
		"losses by %.1e", a.Forward, a.At, a.Gradient, a.Later)
}

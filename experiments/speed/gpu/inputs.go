package gpu

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/experiments/internal/pytorch"
)

// inputs are the network of some cases with the values that all sides compute with. PyTorch reads them from
// files.
type inputs struct {
	engine  model.Engine
	initial model.Values
	part    *batch.Part // one group
	pooled  []float32
	folder  string
	files   map[string]string // paths by name
}

// positiveRate is the share of positive labels. It is not one half, where the sum of the gradients over many
// samples is so small that rounding shows in it.
const positiveRate = 0.25

// newInputs draws initial parameters, and a batch. Its method remove deletes the files.
func newInputs(n *pytorch.Network, samples int, seed uint64) (*inputs, error) {
	e, err := model.New(n.Spec(), n.Schema(), nil)
	if err != nil {
		return nil, err
	}
	in := &inputs{engine: e, initial: model.InitialValues(e, seed), files: map[string]string{}}
	l, random := e.Layout(), rng.New(seed, "gpu/inputs")
	draw := func(n int, value func() float32) []float32 {
		values := make([]float32, n)
		for i := range values {
			values[i] = value()
		}
		return values
	}
	normal := func() float32 { return float32(random.NormFloat64()) }
	label := func() float32 {
		if random.Float64() < positiveRate {
			return 1
		}
		return 0
	}
	in.pooled = draw(samples*l.EmbeddingWidth, normal)
	in.part = &batch.Part{Bounds: []int{0, samples}, Batch: &batch.Batch{Samples: samples,
		Dense: draw(samples*l.DenseWidth, normal), Labels: draw(samples, label)}}
	if in.folder, err = os.MkdirTemp("", "tandem-gpu-"); err != nil {
		return nil, fmt.Errorf("cannot create a folder for the input values: %w", err)
	}
	for name, values := range map[string][]float32{"params": in.initial.Params, "embeddings": in.pooled,
		"numbers": in.part.Dense, "labels": in.part.Labels} {
		if err := in.write(name, values); err != nil {
			in.remove()
			return nil, err
		}
	}
	return in, nil
}

// write writes values for the peer, in the byte order of the machine.
func (in *inputs) write(name string, values []float32) error {
	raw, err := binary.Append(make([]byte, 0, 4*len(values)), binary.NativeEndian, values)
	if err != nil {
		return err
	}
	in.files[name] = filepath.Join(in.folder, name)
	return os.WriteFile(in.files[name], raw, 0o600)
}

func (in *inputs) remove() { _ = os.RemoveAll(in.folder) } // the rest is in the system's temporary folder

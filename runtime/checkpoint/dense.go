package checkpoint

import (
	"fmt"
	"io"
	"strings"

	"tandem/algo/exec/dense"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/runtime/checkpoint/safetensors"
)

// The dense network is kept once as predictions need it, and once more for each replica where the network is
// the mean of several:
//
//	model.<tensor>             the parameters, by the names and shapes of the layout
//	running                    the running batch-norm statistics
//	part.<i>.parameters        what the role of part i trained; only where there are several replicas
//	part.<i>.running           its running statistics; also only there
//	part.<i>.optimizer         its optimizer state: slots × parameters
//	part.<i>.pending           statistics of groups that are not yet in the running statistics
const (
	modelPrefix    = "model."
	runningTensor  = "running"
	partParameters = "parameters"
	partOptimizer  = "optimizer"
	partPending    = "pending"
)

type safetensor = safetensors.Tensor

func partTensor(i int, name string) string { return fmt.Sprintf("part.%d.%s", i, name) }

func writeTensors(out io.Writer, tensors []safetensor) error {
	return safetensors.Write(out, tensors, map[string]string{"format": formatName})
}

// named returns the tensors of a layout in the order of the parameters, or one for all parameters if the
// engine of the network names none.
func named(layout *model.Layout) []model.Tensor {
	at := 0
	for _, t := range layout.Tensors {
		if t.Lo != at {
			break
		}
		at = t.Hi
	}
	if at == layout.Params {
		return layout.Tensors
	}
	return []model.Tensor{{Name: partParameters, Shape: []int{layout.Params}, Hi: layout.Params}}
}

// encodeDense returns the description and the tensors of a network.
func encodeDense(layout *model.Layout, parts []dense.Part) (d Dense, tensors []safetensor) {
	joined := dense.Join(parts, layout)
	for _, t := range named(layout) {
		tensors = append(tensors,
			safetensors.Floats(modelPrefix+t.Name, joined.Params[t.Lo:t.Hi], t.Shape...))
	}
	if len(joined.Running) > 0 {
		tensors = append(tensors, safetensors.Floats(runningTensor, joined.Running, len(joined.Running)))
	}
	d.Parameters = layout.Params
	replicas := len(parts) > 1 && len(parts[0].Params) == layout.Params
	for i := range parts {
		tensors = append(tensors, partTensors(i, &parts[i], replicas)...)
		d.Parts = append(d.Parts, partOf(&parts[i]))
	}
	return d, tensors
}

// partOf describes a part.
func partOf(p *dense.Part) Part {
	return Part{p.At.Role.String(), int(p.At.Index), p.Lo, len(p.Params), p.Steps, p.PerStep}
}

// partTensors returns the tensors of a part that has a number, with or without its parameters and statistics.
func partTensors(i int, p *dense.Part, parameters bool) (tensors []safetensor) {
	add := func(name string, values []float32, shape ...int) {
		if len(values) > 0 {
			tensors = append(tensors, safetensors.Floats(partTensor(i, name), values, shape...))
		}
	}
	if parameters {
		add(partParameters, p.Params, len(p.Params))
		add(runningTensor, p.Running, len(p.Running))
	}
	if n := len(p.Params); n > 0 {
		add(partOptimizer, p.Optimizer, len(p.Optimizer)/n, n)
	}
	add(partPending, p.Pending, len(p.Pending))
	return tensors
}

// readPart sets the values of a part that has a number, from those of its tensors that there are.
func readPart(f *safetensors.File, i int, p *dense.Part) error {
	for name, values := range map[string]*[]float32{ // order-free: fields are distinct
		partParameters: &p.Params, runningTensor: &p.Running, partOptimizer: &p.Optimizer,
		partPending: &p.Pending,
	} {
		t, err := f.Tensor(partTensor(i, name))
		if err != nil {
			continue // not every part has it
		}
		if *values, err = t.Floats(); err != nil {
			return err
		}
	}
	return nil
}

// network returns the tensors of the network that predictions are computed with, in the order of its layout,
// and their values.
func network(f *safetensors.File) (tensors []model.Tensor, values model.Values, err error) {
	for i := range f.Tensors {
		t := &f.Tensors[i]
		name, parameters := strings.CutPrefix(t.Name, modelPrefix)
		if !parameters && t.Name != runningTensor {
			continue
		}
		numbers, err := t.Floats()
		if err != nil {
			return nil, values, err
		}
		if !parameters {
			values.Running = numbers
			continue
		}
		lo := len(values.Params)
		values.Params = append(values.Params, numbers...)
		tensors = append(tensors, model.Tensor{Name: name, Shape: t.Shape, Lo: lo, Hi: len(values.Params)})
	}
	return tensors, values, nil
}

// decodeDense returns the parts of a network.
func decodeDense(d *Dense, f *safetensors.File) ([]dense.Part, error) {
	_, joined, err := network(f)
	if err != nil {
		return nil, err
	}
	if len(joined.Params) != d.Parameters {
		return nil, fmt.Errorf("%d parameters, want %d", len(joined.Params), d.Parameters)
	}
	var parts []dense.Part
	for i, described := range d.Parts {
		p := dense.Part{Lo: described.Lo, PerStep: described.PerStep}
		p.Steps = described.Steps
		if p.At, err = addressOf(described); err != nil {
			return nil, err
		}
		if described.Lo < 0 || described.Parameters < 0 ||
			described.Parameters > d.Parameters-described.Lo {
			return nil, fmt.Errorf("%v has %d parameters from %d on", p.At, described.Parameters,
				described.Lo)
		}
		p.Params = joined.Params[described.Lo:][:described.Parameters:described.Parameters]
		if described.Lo == 0 {
			p.Running = joined.Running
		}
		if err := readPart(f, i, &p); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// addressOf returns the role that a part is of.
func addressOf(p Part) (msg.Address, error) {
	for role := msg.Role(0); role.Known(); role++ {
		if role.String() == p.Role && p.Index >= 0 && p.Index < 1<<31 {
			return msg.Address{Role: role, Index: int32(p.Index)}, nil
		}
	}
	return msg.Address{}, fmt.Errorf("a part of %s %d", p.Role, p.Index)
}

package dense

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
)

// Part is what one role holds of the dense network, with all that its training needs to continue.
type Part struct {
	At msg.Address
	Lo int // the part has the network's parameters from Lo on
	model.State
	// PerStep is the number of optimizer steps of a training step.
	PerStep int
	// Pending has the batch-norm statistics of groups that are not yet folded into the running statistics.
	Pending []float32
}

// clone returns a copy.
func (p Part) clone() Part {
	p.Values, p.Optimizer, p.Pending = p.Values.Clone(), slices.Clone(p.Optimizer), slices.Clone(p.Pending)
	return p
}

// whole reports whether a part has all parameters.
func (p *Part) whole(layout *model.Layout) bool { return p.Lo == 0 && len(p.Params) == layout.Params }

// slots returns the number of values that the optimizer keeps for each parameter.
func (p *Part) slots() int { return len(p.Optimizer) / max(len(p.Params), 1) }

// CheckParts returns an error unless parts are a whole network, in slices or in replicas.
func CheckParts(parts []Part, layout *model.Layout) error {
	if len(parts) == 0 {
		return fmt.Errorf("no part of the dense network")
	}
	replicas, at, pending := parts[0].whole(layout), 0, 0
	for i := range parts {
		p := &parts[i]
		if p.Lo != at {
			return fmt.Errorf("%v has the parameters of the dense network from %d on, want %d", p.At, p.Lo,
				at)
		}
		if !replicas {
			at += len(p.Params)
		}
		running := 0
		if replicas || i == 0 {
			running = layout.Running
		}
		switch {
		case replicas && !p.whole(layout):
			return fmt.Errorf("%v has %d parameters, want %d", p.At, len(p.Params), layout.Params)
		case len(p.Running) != running:
			return fmt.Errorf("%v has %d running statistics, want %d", p.At, len(p.Running), running)
		case len(p.Optimizer) != parts[0].slots()*len(p.Params):
			return fmt.Errorf("%v has %d values of optimizer state for %d parameters", p.At,
				len(p.Optimizer), len(p.Params))
		case p.Steps < 0 || p.PerStep < 1:
			return fmt.Errorf("%v has taken %d optimizer steps, %d a step", p.At, p.Steps, p.PerStep)
		}
		pending += len(p.Pending)
	}
	if !replicas && at != layout.Params {
		return fmt.Errorf("the parts have %d parameters of the dense network, want %d", at, layout.Params)
	}
	if pending > 0 && (layout.Stats == 0 || pending%layout.Stats != 0) {
		return fmt.Errorf("%d pending statistics, want a multiple of %d", pending, layout.Stats)
	}
	return nil
}

// Join returns the network that parts make up: their concatenation, or the mean of replicas, in which
// optimizer state is averaged too. CheckParts must accept the parts.
func Join(parts []Part, layout *model.Layout) Part {
	if !parts[0].whole(layout) {
		return concatenate(parts)
	}
	if len(parts) == 1 {
		return parts[0].clone()
	}
	mean := Part{At: parts[0].At, PerStep: parts[0].PerStep}
	mean.Steps = parts[0].Steps
	mean.Params = meanOf(parts, func(p *Part) []float32 { return p.Params })
	mean.Running = meanOf(parts, func(p *Part) []float32 { return p.Running })
	mean.Optimizer = meanOf(parts, func(p *Part) []float32 { return p.Optimizer })
	return mean
}

// meanOf returns the mean of a field of parts, summed along the tree over ranks.
func meanOf(parts []Part, of func(*Part) []float32) []float32 {
	var all [][]float32
	for i := range parts {
		all = append(all, slices.Clone(of(&parts[i])))
	}
	collective.Tree(all)
	for i := range all[0] {
		all[0][i] /= float32(len(all))
	}
	return all[0]
}

// concatenate joins slices. Optimizer state is one value for each parameter, and that again for each slot.
func concatenate(parts []Part) Part {
	all := Part{At: parts[0].At, PerStep: parts[0].PerStep}
	all.Steps = parts[0].Steps
	for i := range parts {
		all.Params = append(all.Params, parts[i].Params...)
		all.Running = append(all.Running, parts[i].Running...)
		all.Pending = append(all.Pending, parts[i].Pending...)
	}
	for slot := range parts[0].slots() {
		for i := range parts {
			n := len(parts[i].Params)
			all.Optimizer = append(all.Optimizer, parts[i].Optimizer[slot*n:(slot+1)*n]...)
		}
	}
	return all
}

// convert returns the part that a role needs of the network that parts make up. Like gives the role, the
// place and the lengths of its part; holders is the number of roles that hold the network now. If the same
// roles held the same parts, the result is exactly what the role held. A single replica is what every rank
// held.
func convert(parts []Part, like Part, holders int, layout *model.Layout) Part {
	same := slices.IndexFunc(parts, func(p Part) bool {
		return p.At == like.At && p.Lo == like.Lo && len(p.Params) == len(like.Params)
	})
	var found Part
	if same >= 0 && len(parts) == holders {
		found = parts[same].clone()
	} else {
		found = Join(parts, layout)
		hi := like.Lo + len(like.Params)
		var optimizer []float32
		for slot := range found.slots() {
			at := slot * layout.Params
			optimizer = append(optimizer, found.Optimizer[at+like.Lo:at+hi]...)
		}
		found.Params, found.Optimizer = found.Params[like.Lo:hi], optimizer
		if len(like.Running) == 0 {
			found.Running, found.Pending = nil, nil
		}
	}
	if found.PerStep != like.PerStep { // the schedule goes on at the same training step
		found.Steps = found.Steps / found.PerStep * like.PerStep
	}
	found.At, found.Lo, found.PerStep = like.At, like.Lo, like.PerStep
	return found
}

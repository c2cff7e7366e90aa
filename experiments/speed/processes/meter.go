package processes

import (
	"math"

	"tandem/experiments/internal/turns"
)

// meter measures the load of a step between a tenth and nine tenths of a run, while the pipeline is full and
// no process starts or ends.
type meter struct {
	read        func() turns.Load
	first, last turns.Load
	from, to    int // steps
}

// progress receives the number of steps that are done.
func (m *meter) progress(done, steps int) {
	if m.from == 0 && 10*done >= steps {
		m.from, m.first = done, m.read()
	}
	if m.to == 0 && 10*done >= 9*steps {
		m.to, m.last = done, m.read()
	}
}

// perStep returns the load of a step; NaN if progress was reported too rarely.
func (m *meter) perStep() turns.Load {
	steps := float64(m.to - m.from)
	if steps <= 0 {
		return turns.Load{Switches: math.NaN(), CPU: math.NaN()}
	}
	l := m.last.Minus(m.first)
	return turns.Load{Switches: l.Switches / steps, CPU: l.CPU / steps}
}

package engine

import (
	"errors"
	"slices"

	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
)

// Measured is a replica whose steps are measured beside other ways to do their work. In a training nothing
// uses it.
type Measured struct {
	model.Replica
	of *replica
}

// Multiplication is a matrix product of a step.
type Multiplication struct {
	cuda.Product
	Adds bool // to what is at its place
}

// NewMeasured returns a replica on the first of the devices. With c.Summed, a step takes the gradients of
// this replica alone, as if it were the only rank, and no gradient of a parameter leaves the device.
func (g *GPUs) NewMeasured(e model.Engine, c model.ReplicaConfig) (*Measured, error) {
	made, err := g.Trainer(e)
	if err != nil {
		return nil, err
	}
	r, err := newReplica(g.devices[0], made.(*trainer), c)
	if err != nil {
		return nil, err
	}
	return &Measured{Replica: r, of: r}, nil
}

// LeaveOutCopies makes later steps leave out the copies of pooled embeddings, numbers, labels and gradients
// of pooled embeddings between host and device, or copy them again. Without copies a step computes with what
// the device has. Losses and statistics are copied in any case.
func (m *Measured) LeaveOutCopies(leaveOut bool) { m.of.bare = leaveOut }

// Products returns the matrix products of a step, in their order, after the first step of its sizes.
func (m *Measured) Products() []Multiplication { return slices.Clone(m.of.multiplied) }

// Rows returns the embedding rows of the replica, or nil if it has none.
func (m *Measured) Rows() model.DeviceRows { return m.of.Rows() }

// Sync waits for the device, which StepSum does not.
func (m *Measured) Sync() error { return errors.Join(m.of.compute.Sync(), m.of.out.Sync()) }

// Close waits for the device and frees what the replica has there, at once instead of when it is garbage.
func (m *Measured) Close() error {
	err := m.Sync()
	m.of.memory.free()
	return err
}

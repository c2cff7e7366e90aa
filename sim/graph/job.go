package graph

import (
	"errors"
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/system"
	"tandem/sim/timeline"
	"tandem/sim/topo"
)

// ErrMemory is wrapped by the error about tables that do not fit.
var ErrMemory = errors.New("does not fit")

// Cluster is resolved hardware: GPU servers and what connects them.
type Cluster struct {
	Accelerator *device.Accelerator
	Server      *device.Host
	HostLink    device.Wire // between the host and one accelerator
	// Topology has one group, of the servers. The job sets its number of accelerators.
	Topology topo.Spec
}

// Job is a training job whose tables are in the memories of the accelerators. All quantities of the model and
// of the system are taken at their middle.
type Job struct {
	Model       *model.Model
	Cluster     *Cluster
	System      *system.Profile
	GPUs        int
	GlobalBatch int // samples of a step; 0: the model's default
	// Precisions replaces those of the model where it is not empty.
	Precisions model.Precisions
	// Placement is how some tables are to be placed. The others are placed by cost.
	Placement []Rule
	// Steps is the number of steps to simulate; 0: stepsDefault.
	Steps int
	Seed  uint64
	// Slow is how many times as long work takes on the slowest rank, which the others await in every
	// collective: its kernels and its host thread, not its copies. 0 means 1.
	Slow float64
	// Timeline receives, unless it is nil, what every stream of the slowest rank did in the steps after the
	// warm-up.
	Timeline *timeline.Timeline
}

// Steps to simulate. The warm-up fills the pipeline of batches.
const (
	stepsDefault = 32
	stepsMax     = 100_000
	stepsWarm    = 4
)

// validate fills in defaults and reports the first setting that is out of range.
func (j *Job) validate() error {
	switch {
	case j.Model == nil || j.Cluster == nil || j.System == nil:
		return errors.New("graph: a job without model, cluster or system; give all")
	case j.System.Architecture != system.StepGraph:
		return fmt.Errorf("graph: system %s has architecture %s; want one of architecture %s", j.System.Name,
			j.System.Architecture, system.StepGraph)
	case j.GPUs < 1:
		return fmt.Errorf("graph: %d GPUs; want at least 1", j.GPUs)
	case j.GlobalBatch < 0:
		return fmt.Errorf("graph: global batch of %d samples; want at least one for each GPU", j.GlobalBatch)
	case j.Slow != 0 && !(j.Slow >= 1):
		return fmt.Errorf("graph: a rank that takes %g times as long; want 1 or more", j.Slow)
	case j.Steps < 0 || j.Steps > stepsMax:
		return fmt.Errorf("graph: %d steps; want 1 to %d, or 0 for %d", j.Steps, stepsMax, stepsDefault)
	}
	if j.GlobalBatch == 0 {
		j.GlobalBatch = j.Model.GlobalBatch(j.GPUs)
	}
	if j.GlobalBatch < j.GPUs {
		return fmt.Errorf("graph: global batch of %d samples on %d GPUs; want at least one for each",
			j.GlobalBatch, j.GPUs)
	}
	if j.Steps == 0 {
		j.Steps = stepsDefault
	}
	p, d := &j.Precisions, &j.Model.Precisions
	if p.Compute == "" {
		p.Compute = d.Compute
	}
	for _, x := range []struct{ to, from *model.Format }{
		{&p.Rows, &d.Rows}, {&p.Activations, &d.Activations}, {&p.Wire, &d.Wire},
		{&p.Gradients, &d.Gradients},
	} {
		if *x.to == "" {
			*x.to = *x.from
		}
	}
	return nil
}

// Memory is what one rank, the one with the most, holds in its accelerator's memory.
type Memory struct {
	Tables      unit.Bytes // rows
	State       unit.Bytes // optimizer state of rows
	Dense       unit.Bytes // parameters, gradients and optimizer state of the dense network
	Activations unit.Bytes // of the dense network, with their gradients
	Buffers     unit.Bytes // batches in the pipeline, pooled rows and their gradients
	Reserve     unit.Bytes // for the libraries, and lost to fragments
	Capacity    unit.Bytes
	// HostTables is what the tables take of the server's memory and SSDs, for each rank.
	HostTables unit.Bytes
}

// reserveShare is the part of an accelerator's memory that is not for tables or the network.
//
// Source: the default of TorchRec's planner, HeuristicalStorageReservation, 15 % (2023).
const reserveShare = 0.15

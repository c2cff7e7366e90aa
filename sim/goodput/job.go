package goodput

import (
	"errors"
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cluster"
	"tandem/sim/device"
	"tandem/sim/predict"
	"tandem/sim/system"
)

// Node is the name of every machine, as a Victim; the other names are those of roles.
const Node = "node"

// Victim is what can fail in a job: the processes of a role, or the machines of a group.
type Victim struct {
	Name  string // of the role, or Node
	Group string // of machines
	Count int
	Consequence
	GPUs bool // machines with GPUs
}

// Label names a victim in a table.
func (v *Victim) Label() string {
	if v.Group != "" {
		return v.Group
	}
	return v.Name
}

// Means are the means of recovery that a training has besides checkpoints.
type Means struct {
	RedoLogs bool // PSs return where their disks remain
	// Ranks: a rank returns with the parameters of another, in modes where all have the same. Where the rows
	// are on GPUs, no other has its rows.
	Ranks bool
}

// Victims returns what can fail in a job that recovers by some means.
func Victims(j *predict.Job, by Means) ([]Victim, error) {
	h := j.Hardware
	ranks := j.Roles.Ranks
	servers := 1
	if per := j.Cluster.AcceleratorsPerServer; per > 0 {
		servers = (ranks + per - 1) / per
	}
	gpuServers := Victim{Node, "GPU server", servers, GoesBack, true}
	if h.System.Architecture == system.StepGraph {
		return []Victim{{msg.NNWorker.String(), "", ranks, GoesBack, false}, gpuServers}, nil
	}
	cfg, err := cluster.Roles(h, &j.Job)
	if err != nil {
		return nil, err
	}
	var all []Victim
	copies := by.Ranks && cfg.RanksAreEqual() && !j.HasRowsOnGPU()
	for r := msg.Role(0); r.Known(); r++ {
		follows := GoesBack
		switch {
		case cfg.CanRestart(r):
			follows = Returns
		case role.CanRedo(r) && by.RedoLogs:
			follows = Redone
		case r == msg.NNWorker && copies && ranks > 1:
			follows = Copies
		}
		if n := int(cfg.Count(r)); n > 0 {
			all = append(all, Victim{r.String(), "", n, follows, false})
		}
	}
	if h.Colocated() {
		gpuServers.Group = "this machine"
		return append(all, gpuServers), nil
	}
	if copies && servers > 1 {
		gpuServers.Consequence = Copies
	}
	machines := []Victim{gpuServers, {Node, "EW host", h.EmbeddingWorkers.Count.Mid, Returns, false},
		{Node, "PS host", h.EmbeddingPSs.Count.Mid, GoesBack, false},
		{Node, "dense PS host", len(cfg.DensePSs), GoesBack, false},
		{Node, "loader host", h.Loaders.Count.Mid, Returns, false}}
	for _, v := range machines {
		if v.Count > 0 {
			all = append(all, v)
		}
	}
	return all, nil
}

// Size is the size of a checkpoint.
type Size struct {
	Whole unit.Bytes
	Part  unit.Bytes // of the host with the largest part; all hosts write at once
	Hosts int        // that write rows
	// Network is the rate of the network cards of a host; 0: not known.
	Network unit.BytesPerSec
}

// ErrRows is the error of a job whose number of rows is not known.
var ErrRows = errors.New("the number of embedding rows is not known")

const (
	valueBytes = 4
	signBytes  = 8
)

// SizeOf returns the size of a checkpoint of a job at the middle of what is not known: rows, each with its
// sign and the state of its optimizer, and the dense network with its own. Of a step graph, and of rows on
// GPUs, every server writes an equal part.
func SizeOf(j *predict.Job) (Size, error) {
	w, h := &j.Workload, j.Hardware
	if !(w.Rows > 0) {
		return Size{}, fmt.Errorf("%w, and so the size of a checkpoint", ErrRows)
	}
	rows := w.BytesOfRows(signBytes)
	dense := float64(denseBytes(j))
	s := Size{Whole: unit.Bytes(rows + dense)}
	if h.Colocated() {
		s.Hosts, s.Part = 1, s.Whole
		return s, nil
	}
	s.Part = unit.Bytes(dense / float64(max(1, len(j.DenseShards(j.Layout)))))
	per, onPSs := j.Cluster.AcceleratorsPerServer, w.OnPSs(&j.Job).BytesOfRows(signBytes)
	if h.System.Architecture == system.StepGraph {
		onPSs = 0
	}
	if onPSs > 0 {
		s.add(&h.EmbeddingPSs.Host, max(1, h.EmbeddingPSs.Count.Mid), onPSs)
	}
	if onPSs < rows {
		s.add(&h.Server, (j.Roles.Ranks+per-1)/per, rows-onPSs)
	}
	return s, nil
}

// add adds equal hosts that write some bytes of rows. The rate is that of the slowest card of all.
func (s *Size) add(host *device.HostProfile, hosts int, rows float64) {
	s.Hosts += hosts
	s.Part = max(s.Part, unit.Bytes(rows/float64(hosts)))
	if host.Network.Given() && (s.Network == 0 || host.Network.Mid < s.Network) {
		s.Network = host.Network.Mid
	}
}

// Time returns the time to write or read a checkpoint, with storage of a rate for each host.
func (s *Size) Time(storage unit.BytesPerSec) unit.Tick {
	rate := storage
	if s.Network > 0 {
		rate = min(rate, s.Network)
	}
	return unit.Tick(float64(s.Part) / float64(rate) * float64(unit.Second))
}

// CopyTime returns the time in which a rank takes the parameters and the optimizer state of another, from
// server to server.
func CopyTime(j *predict.Job) unit.Tick {
	network := &j.Hardware.Server.Network
	if j.Hardware.Colocated() || !network.Given() {
		return 0
	}
	return unit.Tick(float64(denseBytes(j)) / float64(network.Mid) * float64(unit.Second))
}

// denseBytes returns the size of the dense network and the state of its optimizer.
func denseBytes(j *predict.Job) unit.Bytes {
	params := j.Layout.Params
	return unit.Bytes(valueBytes * (params + j.Job.Model.Optimizer.StateSize(params)))
}

// ReplayShare returns the time in which a PS handles its inputs again, as a share of the time in which it
// received them. It handles the inputs of its redo log one after the other, so the share is the mean number
// of threads that work on a PS.
func ReplayShare(r *predict.Result) (share float64) {
	for _, use := range r.Stations {
		if use.Name == "PS threads" || use.Name == "dense PS threads" {
			share = max(share, use.Busy*use.Servers)
		}
	}
	return share
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/sim/cost"
	"tandem/sim/predict"
	"tandem/sim/preset"
)

// noteOfBatch says that GPUs have few samples each because they share the batch of the model.
func (q *request) noteOfBatch(given func(string) bool) (notes []string) {
	if given("batch-per-gpu") || given("global-batch") || given("file") || q.kind == trained {
		return nil
	}
	const few = 64
	gpus := slices.Max(q.gpus)
	if each := q.job.Training.GlobalBatch / gpus; each < few && gpus > 1 {
		notes = append(notes, fmt.Sprintf("%d GPUs share %d samples of a step, %d each; --batch-per-gpu "+
			"lets the batch grow with them", gpus, q.job.Training.GlobalBatch, each))
	}
	return notes
}

// notesOfPSs says what memory of PSs does not say by itself, of a question about one model on a cluster with
// PSs.
func (q *request) notesOfPSs(given func(string) bool) (notes []string) {
	if q.net == nil || !q.kind.one() || q.graph() || q.cluster == thisMachine {
		return nil
	}
	j := q.question(q.modes[0], slices.Max(q.gpus))
	use := cost.MemoryUse(j.Hardware.Resolve(), &j.Job, j.Layout, &j.Workload)
	chosen := func(setting string) bool { return strings.HasPrefix(setting, "embedding-ps.count=") }
	if given("preset") && !preset.IsFile(q.preset) && !slices.ContainsFunc(q.set, chosen) {
		notes = q.noteOfHosts(j, &use)
	}
	return append(notes, noteOfOverhead(j, &use)...)
}

// noteOfHosts says that the PS hosts of a preset were bought for larger tables than those of the model.
func (q *request) noteOfHosts(j *predict.Job, use *cost.Memory) []string {
	const empty = 0.1
	hosts, full := j.Hardware.EmbeddingPSs.Count.Mid, float64(use.PS)/float64(use.PSHas)
	if price, _ := q.dollarsPerHour(j); price == nil || hosts < 2 || full == 0 || full >= empty {
		return nil
	}
	return []string{fmt.Sprintf("rows fill %s of the memory of the %d PS hosts of %s, whose whole price "+
		"counts: sim plan --presets %s chooses the numbers of hosts", part(full), hosts, q.preset, q.preset)}
}

// noteOfOverhead says where rows would not fit in the system's own tables. In every system they count as
// those of this runtime.
func noteOfOverhead(j *predict.Job, use *cost.Memory) []string {
	s := j.Hardware.System
	low, high := s.EmbeddingPS.Overhead.Range()
	own := use.WithOverhead(low)
	if own <= use.PSHas {
		return nil
	}
	return []string{fmt.Sprintf("rows count as those of this runtime; in the tables of %s itself they take "+
		"%v to %v each beside values and state, and would not fit: at least %v on a PS host of %v", s.Name,
		low, high, own, use.PSHas)}
}

// noteOfPart says that a part of a server is priced as its accelerators beside a whole host.
func (q *request) noteOfPart() []string {
	gpus, per := slices.Max(q.gpus), q.job.Cluster.AcceleratorsPerServer
	if q.net == nil || !q.kind.one() || q.cluster == thisMachine || q.dollars > 0 || per == 0 ||
		gpus%per == 0 {
		return nil
	}
	if price, _ := q.dollarsPerHour(q.question(q.modes[0], gpus)); price == nil {
		return nil
	}
	return []string{fmt.Sprintf("servers have %d GPUs: the price is that of %d GPUs and whole servers, and "+
		"who rents whole machines pays for %d", per, gpus, (gpus+per-1)/per*per)}
}

// notesOfGPURows returns what a user might not expect of rows on GPUs.
func (q *request) notesOfGPURows() (notes []string) {
	if !q.job.HasRowsOnGPU() {
		return nil
	}
	if note := noteOfGPUSystem(q.hardware.System.Name); note != "" {
		notes = append(notes, fmt.Sprintf("%s: --system %s has those of the runtime", note, ownSystem))
	}
	if slices.Contains(q.modes, job.Sync) && !q.job.MixesPlacements() {
		notes = append(notes, "hybrid has the bits of sync where rows are on GPUs, and gets the ids of its "+
			"next batches ahead")
	}
	return notes
}

// noteOfGPUSystem says that a system has no rows on GPUs, if it is not that of the runtime.
func noteOfGPUSystem(name string) string {
	if name == ownSystem {
		return ""
	}
	return fmt.Sprintf("rows on GPUs are those of %s; %s, which has none, gives the prices of launches, "+
		"waits and collectives", ownSystem, name)
}

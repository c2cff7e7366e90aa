package main

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/internal/cli"
	"tandem/runtime/cuda"
	"tandem/runtime/gpuhealth"
	"tandem/runtime/memory"
	"tandem/runtime/metrics"
	"tandem/runtime/train"
	"tandem/runtime/watch"
)

// serve serves metrics at an address, and says where. The server lives as long as the process.
func (p *program) serve(address string, collect func(*metrics.Snapshot)) (*metrics.Server, error) {
	server, err := metrics.Serve(address, "node", cli.Commit(), collect)
	if err != nil {
		return nil, cli.MetricsError(err)
	}
	fmt.Fprintf(p.stderr, "node: metrics are at %s\n", server.URL())
	return server, nil
}

// watchGPUs prints the GPUs that the ranks of this process use, and returns what reads their state, or nil if
// there are none or it cannot be read.
func (p *program) watchGPUs(used []cuda.Info) *gpuhealth.Watch {
	if len(used) == 0 {
		return nil
	}
	var uuids []string
	for _, g := range used {
		uuids = append(uuids, g.UUID)
	}
	watch, err := gpuhealth.Open("", uuids)
	if err != nil {
		fmt.Fprintf(p.stderr, "node: the metrics lack the state of the GPUs: %v\n", err)
		return nil
	}
	gpus, err := watch.Read()
	if err != nil {
		fmt.Fprintf(p.stderr, "node: %v\n", err)
	}
	for _, g := range gpus {
		fmt.Fprintf(p.stderr, "node: %s (GPU-%s), driver %s: %v of %v in use\n", g.Name, g.UUID,
			watch.Driver(), g.MemoryUsed, g.Memory)
	}
	return watch
}

// serveRoles serves the metrics of a process with roles, if the user asks for them; else the server is nil.
// arena returns that of the rows, and gpus, which may be nil, reads the GPUs. The observer, or nil, must
// receive the records of the roles.
func (p *program) serveRoles(address string, roles job.Process, arena func() *memory.Arena,
	gpus *gpuhealth.Watch, machine *backend.Backend, refused *metrics.Refused) (event.Observer,
	*metrics.Server, error) {
	if address == "" {
		return nil, nil, nil
	}
	counts := metrics.NewRoles(roles)
	machine.Trained = counts.Trained
	server, err := p.serve(address, func(to *metrics.Snapshot) {
		counts.Collect(to)
		refused.Collect(to)
		if use, err := arena().Use(); err == nil {
			to.Add(metrics.RowMemory, float64(use.Allocated))
		}
		if gpus == nil {
			return
		}
		all, _ := gpus.Read() // a GPU that cannot be read has no values
		for _, g := range all {
			metrics.AddGPU(to, g)
		}
	})
	return counts, server, err
}

// serveHost serves the metrics of a training whose roles are in other processes, if the user asks for them;
// else the server is nil. It is ready while the roles train.
func (p *program) serveHost(address string, j job.Job, source batch.Source,
	o *train.Options, refused *metrics.Refused) (*metrics.Server, error) {
	if address == "" {
		return nil, nil
	}
	var mu sync.Mutex
	latest := evaluation.Point{Scores: evaluation.Scores{AUC: math.NaN()}}
	training := watch.New(source.Steps(), source.Samples, time.Now)
	var server *metrics.Server
	o.Progress = func(done, _ int) {
		training.Step(done)
		server.SetReady()
	}
	o.Evaluated = func(point evaluation.Point) {
		mu.Lock()
		defer mu.Unlock()
		latest = point
	}
	labels := []string{"mode", j.Training.Mode, "seed", strconv.FormatUint(j.Training.Seed, 10)}
	server, err := p.serve(address, func(to *metrics.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		refused.Collect(to)
		metrics.AddTraining(to, training.Now(), labels...)
		metrics.AddEvaluation(to, latest, labels...)
	})
	return server, err
}

package gpu

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/internal/workload"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/predict"
)

// goalPredicted is how far a measured rate may be from the predicted one, as a share of it.
//
// Source: the goal that was set for predictions of rows in GPU memory before their first measurement.
const goalPredicted = 0.15

// predictedPoints is the number of points of what is not known behind an interval.
const predictedPoints = 32

// softwareGPU is what runtime/cuda/softgpu calls itself.
const softwareGPU = "Tandem software GPU"

// prediction is what the simulator says of a training.
type prediction struct {
	Rate    float64 `json:"samples_per_s"`
	Low     float64 `json:"samples_per_s_low"`  // 1st percentile over what is not known
	High    float64 `json:"samples_per_s_high"` // 99th
	BoundBy string  `json:"bound_by"`
	Profile string  `json:"accelerator"`
	// Error says why there is none, for example because the rows do not fit the profile's memory.
	Error string `json:"error,omitempty"`
}

// profile returns the profile of the accelerator for predictions: that of the plan, or the built-in one of
// the GPU; "" if there is none.
func (m *measurement) profile() string {
	if m.Accelerator != "" {
		return m.Accelerator
	}
	return device.AcceleratorOf(m.device.Info().Name)
}

// predict predicts a training on the GPUs of this machine; nil without a profile of them.
func (m *measurement) predict(ctx context.Context, j job.Job, data *datasets.Dataset) (*prediction, error) {
	name := m.profile()
	if name == "" {
		return nil, nil
	}
	h, err := hardware(name, &j)
	if err != nil {
		return nil, err
	}
	w, layout, err := workload.Counted(data, &j)
	if err != nil {
		return nil, err
	}
	r, err := predict.Run(ctx, &predict.Job{Job: j, Hardware: h, Workload: w, Layout: layout},
		predict.Options{Samples: predictedPoints, WithoutEnds: true})
	if err != nil && ctx.Err() == nil {
		return &prediction{Profile: name, Error: err.Error()}, nil
	}
	if err != nil {
		return nil, context.Cause(ctx)
	}
	return &prediction{Rate: r.Mid.Throughput, Low: r.Interval.Low, High: r.Interval.High,
		BoundBy: r.Mid.Bottlenecks[0].Resource, Profile: name}, nil
}

// hostProfile is the profile of the hosts of a prediction, apart from their cores.
const hostProfile = "dgx-h100"

// pointers is the rate of the network of a prediction: within a process, messages pass pointers.
const pointers = unit.BytesPerSec(1e12)

// hardware returns the cluster of a prediction: a server with the GPUs of a job, and a host for each other
// kind of role, which have the cores of this machine together: PSs half of them, EWs a quarter. In a training
// all roles share all cores. Kernels are launched as parts of graphs.
func hardware(profile string, j *job.Job) (*cost.Hardware, error) {
	section, err := job.LoadCluster("commodity-10g")
	if err != nil {
		return nil, err
	}
	section.SetAccelerator(profile)
	section.AcceleratorsPerServer, section.Server, section.System = j.Roles.Ranks, hostProfile, "tandem"
	section.Network, section.NetworkRate = "shared-memory", pointers
	cores := func(share int) string { return fmt.Sprint(max(1, runtime.NumCPU()/share)) }
	section.Set = map[string]string{"system.nn-worker.captured": "1", "server.cores": cores(4),
		"embedding-workers.cores": cores(4), "embedding-ps.cores": cores(2), "loaders.cores": cores(4)}
	for _, x := range []struct {
		hosts *job.Hosts
		roles int
	}{{&section.EmbeddingWorkers, j.Roles.EmbeddingWorkers}, {&section.EmbeddingPSs, j.Roles.EmbeddingPSs},
		{&section.Loaders, 1}} {
		x.hosts.Profile, x.hosts.Count, x.hosts.PerHost = hostProfile, 1, x.roles
	}
	h, _, err := cost.Load(&section, j.Model.ClusterPrecision())
	return h, err
}

// predictedTraining is a training with its prediction.
type predictedTraining struct {
	*result
	gpus     int
	measured float64 // the median, in samples per second
	*prediction
}

// ratio returns the measured rate ÷ the predicted one.
func (t *predictedTraining) ratio() float64 { return t.measured / t.Rate }

// inside reports whether the measured rate is in the interval.
func (t *predictedTraining) inside() bool { return t.Low <= t.measured && t.measured <= t.High }

// predictedTrainings returns the trainings that were predicted.
func predictedTrainings(results []*result) (all []predictedTraining) {
	for _, r := range measured(results) {
		for _, n := range slices.Sorted(maps.Keys(r.Predicted)) {
			if r.Predicted[n].Error != "" {
				continue
			}
			rates := r.Training
			if n > 1 {
				rates = r.Shared[n]
			}
			all = append(all, predictedTraining{r, n, report.Median(rates), r.Predicted[n]})
		}
	}
	return all
}

// predictedTable has the trainings beside their predictions.
func predictedTable(all []predictedTraining) cli.Table {
	t := cli.Table{Header: []string{"network", "batch", "type", "GPUs", "k/s", "predicted", "interval", "÷",
		"in it"}, Words: 1,
		Caption: "Trainings beside their predictions, in k samples/s; measured ÷ predicted"}
	for _, x := range all {
		in := "no"
		if x.inside() {
			in = "yes"
		}
		if x.software() {
			in = "–"
		}
		t.Rows = append(t.Rows, []string{x.Network.Name, report.Thousands(x.Batch), x.Precision,
			fmt.Sprint(x.gpus), report.Three(x.measured / 1e3), report.Three(x.Rate / 1e3),
			report.Three(x.Low/1e3) + "–" + report.Three(x.High/1e3), fmt.Sprintf("%.2f", x.ratio()), in})
	}
	return t
}

// software reports whether a case was measured on the software GPU.
func (r *result) software() bool { return strings.Contains(r.Machine.GPU, softwareGPU) }

// judgePredictions says how many predictions hold, and which do not.
func judgePredictions(all []predictedTraining) (sentences []string) {
	if len(all) == 0 {
		return nil
	}
	if all[0].software() {
		return []string{"Predictions are not judged: the software GPU computes on the processors, so that " +
			"measured ÷ predicted says nothing."}
	}
	inside, near := 0, 0
	for _, x := range all {
		if x.ratio() >= 1-goalPredicted && x.ratio() <= 1+goalPredicted {
			near++
		}
		if x.inside() {
			inside++
			continue
		}
		sentences = append(sentences, fmt.Sprintf("Not predicted: %s on %d GPUs: %s k samples/s, predicted "+
			"%s (%s to %s), bound by %s.", x.result, x.gpus, report.Three(x.measured/1e3),
			report.Three(x.Rate/1e3), report.Three(x.Low/1e3), report.Three(x.High/1e3), x.BoundBy))
	}
	return slices.Insert(sentences, 0, fmt.Sprintf("%d of %d trainings are in the interval of their "+
		"prediction, and %d within %g %% of it.", inside, len(all), near, 100*goalPredicted))
}

// predictionNotes say what predictions are made of, or why there are none.
func predictionNotes(results []*result) []string {
	all := predictedTrainings(results)
	switch {
	case len(all) > 0:
		return []string{fmt.Sprintf("Predictions: the simulator, with the profile %s, on a server with the "+
			"GPUs and hosts of the other roles, as %s but with the cores of this machine together, half of "+
			"them of PSs and a quarter of EWs, where all roles of a training share all cores; intervals are "+
			"the 1st to 99th percentile over %d points of what is not known. The start of the roles, which "+
			"is in measured times, is not predicted.", all[0].Profile, hostProfile, predictedPoints)}
	case len(measured(results)) > 0:
		return []string{"No predictions: no built-in profile is that of this GPU; --accelerator names one, " +
			"such as a file of cmd/sim calibrate."}
	}
	return nil
}

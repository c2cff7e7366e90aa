package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/internal/workload"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// prediction is the simulated speed of the job on the job's cluster, which is Persia's unless
// the file names another.
type prediction struct {
	Mode                 string  `json:"mode"`
	Cluster              string  `json:"cluster"`
	SamplesPerSecond     float64 `json:"samples_per_s"`
	SamplesPerSecondLow  float64 `json:"samples_per_s_low"`  // 1st percentile over what is not known
	SamplesPerSecondHigh float64 `json:"samples_per_s_high"` // 99th
	StepSeconds          float64 `json:"step_s"`
	Bottleneck           string  `json:"bottleneck"`
	BottleneckShare      float64 `json:"bottleneck_share"` // of the critical path
}

// samples is the number of points of the box of unknowns behind a range.
const samples = 32

// depthMost is the largest number of batches of a rank under way that are simulated: a prediction takes
// several times as many steps, and minutes beyond.
const depthMost = 500

// simulate predicts the modes that run on a cluster, without the faults and slow roles of the job: with
// faults, the speed depends on retry times more than on the cluster, which has other roles. cmd/sim simulates
// them. It does nothing if the flags leave the prediction out.
func (r *report) simulate(ctx context.Context, j job.Job, f flags, data *datasets.Dataset) error {
	if slices.Contains(f.without, predictionPart) {
		return nil
	}
	w, layout, err := workload.Counted(data, &j)
	if err != nil {
		return fmt.Errorf("simulated: %w", err)
	}
	hardware, _, err := cost.Load(&j.Cluster, j.Model.ClusterPrecision())
	if err != nil {
		return fmt.Errorf("simulated: %w", err)
	}
	for _, t := range inModes(j, f.modes) {
		if t.Training.Mode == job.Sequential {
			continue
		}
		t.Faults, t.Slow, t.Wire.Retry = fault.Plan{}, nil, 0
		predicted := &predict.Job{Job: t, Hardware: hardware, Workload: w, Layout: layout}
		if t.Depth() > depthMost {
			r.Unsimulated = append(r.Unsimulated, fmt.Sprintf("%s with %d batches fetched ahead: up to %d "+
				"are simulated", t.Training.Mode, t.Depth(), depthMost))
			continue
		}
		a, err := predict.Run(ctx, predicted, predict.Options{Samples: samples})
		err = predict.WithDivision(ctx, predicted, predict.Options{}, err)
		// The cluster may have no such GPUs. Whether those of this machine do, the run finds out.
		if t.HasRowsOnGPU() && err != nil {
			r.Unsimulated = append(r.Unsimulated, fmt.Sprintf("%s on %s: %v",
				t.Training.Mode, describe(&hardware.Cluster), err))
			continue
		}
		if err != nil {
			return fmt.Errorf("simulated %s: %w", t.Training.Mode, err)
		}
		p := prediction{
			Mode: t.Training.Mode, Cluster: describe(&hardware.Cluster), SamplesPerSecond: a.Mid.Throughput,
			SamplesPerSecondLow: a.Interval.Low, SamplesPerSecondHigh: a.Interval.High,
			StepSeconds: a.Mid.StepTime.Seconds(),
		}
		if list := a.Mid.Bottlenecks; len(list) > 0 {
			p.Bottleneck, p.BottleneckShare = list[0].Resource, list[0].Share
		}
		r.Simulated = append(r.Simulated, p)
	}
	return nil
}

// describe returns what matters most for the speed of a cluster.
func describe(c *job.Cluster) string {
	return fmt.Sprintf("%s (%d × %s a server, %s, %s)", c.Preset, c.AcceleratorsPerServer, c.Accelerator,
		c.Network, c.System)
}

func (r *report) writeSimulated(w io.Writer) error {
	for _, why := range r.Unsimulated {
		fmt.Fprintln(w)
		cli.Paragraph(w, "Not simulated: "+why+".", "  ")
	}
	if len(r.Simulated) == 0 {
		return nil
	}
	without := r.job.Disturbances()
	if without != "" {
		without = ", without " + without + ","
	}
	caption := fmt.Sprintf("Simulated: the same job%s on %d ranks of %s; speed only", without,
		r.job.Roles.Ranks, r.Simulated[0].Cluster)
	fmt.Fprintln(w)
	cli.Paragraph(w, caption, "  ")
	table := cli.Table{Header: []string{"mode", "samples/s", "range", "step ms", "bounded by"}, Words: 1}
	for _, s := range r.Simulated {
		table.Rows = append(table.Rows, []string{
			s.Mode, fmt.Sprintf("%.0f", s.SamplesPerSecond),
			fmt.Sprintf("%.0f to %.0f", s.SamplesPerSecondLow, s.SamplesPerSecondHigh),
			fmt.Sprintf("%.3f", s.StepSeconds*1000),
			predict.Bottleneck{Resource: s.Bottleneck, Share: s.BottleneckShare}.String(),
		})
	}
	if err := table.WriteText(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "Bounded by: the resource with the largest share of the critical path.\n")
	return err
}

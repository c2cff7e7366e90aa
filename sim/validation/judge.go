package validation

import (
	"context"
	"fmt"
	"math"

	"tandem/sim/predict"
	"tandem/sim/system"
)

// Options of a judgement.
type Options struct {
	// Samples and RoleSamples are the points of the box behind an interval, of software with the tables on
	// accelerators and with parameter servers; 0: SamplesDefault and roleSamplesDefault.
	Samples, RoleSamples int
	// Done is called, unless it is nil, after each step with how many are done and there are in all.
	Done func(done, all int)
}

// Defaults of Options.
const (
	SamplesDefault     = 128
	roleSamplesDefault = 16
)

// Judged is a step beside what is predicted for it. Times are in milliseconds.
type Judged struct {
	Step
	List string // the price list of the prediction
	// Predicted is predict.Prediction.Mid, Low and High are its Interval, with the error of the model.
	Predicted, Low, High float64
	// Roofline is the time of products at the accelerators' peak, of rows at their memory's bandwidth, or of
	// pooled rows on the slowest wire, whichever is longest: what one can say without a simulator.
	Roofline float64
}

// Error returns the logarithm of predicted ÷ published.
func (j *Judged) Error() float64 { return math.Log(j.Predicted / j.StepMS) }

// Inside reports whether the published time is in the interval.
func (j *Judged) Inside() bool { return j.Low <= j.StepMS && j.StepMS <= j.High }

// Width returns how many times as long the high end is as the low.
func (j *Judged) Width() float64 { return j.High / j.Low }

// Judge predicts steps with the price lists of their software. It is deterministic.
func Judge(ctx context.Context, steps []Step, o Options) ([]Judged, error) {
	if o.Samples == 0 {
		o.Samples = SamplesDefault
	}
	if o.RoleSamples == 0 {
		o.RoleSamples = roleSamplesDefault
	}
	var judged []Judged
	for i := range steps {
		s := &steps[i]
		j, err := s.Job(s.List())
		if err != nil {
			return nil, err
		}
		options := predict.Options{Samples: o.Samples, WithoutEnds: true, Seed: 1}
		if j.Hardware.System.Architecture == system.Roles {
			options.Samples = o.RoleSamples
		}
		p, err := predict.Run(ctx, j, options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.ID, err)
		}
		ms := func(rate float64) float64 { return 1000 * float64(s.Batch) / rate }
		judged = append(judged, Judged{Step: *s, List: s.List(), Predicted: ms(p.Mid.Throughput),
			Low: ms(p.Interval.High), High: ms(p.Interval.Low), Roofline: roofline(j)})
		if o.Done != nil {
			o.Done(i+1, len(steps))
		}
	}
	return judged, nil
}

// roofline returns the Roofline of a job.
func roofline(j *predict.Job) float64 {
	r := j.Hardware.Resolve()
	device, n := r.Devices[0], j.Model.Network()
	gpus, local := float64(j.Roles.Ranks), float64(j.Training.GlobalBatch)/float64(j.Roles.Ranks)
	products := local * float64(n.ForwardFLOPs()+n.BackwardFLOPs()) / float64(device.Peak[r.Precision])
	var rows, pooled float64 // bytes of a sample
	for _, t := range j.Model.Tables() {
		rows += t.IDs * float64(t.Dim) * float64(j.Rows.Bytes())
		pooled += float64(t.Dim) * float64(j.Model.Precisions.Wire.Bytes())
	}
	const readsAndWrites = 3 // a row is read, and read and written again
	memory := readsAndWrites * local * rows / float64(device.Bandwidth)
	rate := float64(r.InsideWire.Bandwidth)
	servers := math.Ceil(gpus / float64(j.Cluster.AcceleratorsPerServer))
	if servers > 1 {
		cards := float64(r.ServerHost.Network) * float64(r.NetworkShare)
		rate = min(rate, cards/float64(j.Cluster.AcceleratorsPerServer))
	}
	wires := 2 * local * pooled * (gpus - 1) / gpus / rate
	return 1000 * max(products, memory, wires)
}

// Score is how good predictions of some steps were. Errors are medians of |predicted ÷ published − 1|, taken
// as a factor: 0.2 means a factor of 1.2 in either direction.
type Score struct {
	Steps, Inside int
	Error         float64
	Width         float64 // median of the widths of intervals
	// Roofline, Scaled and Scaling are the errors of three null models: the roofline; the roofline times the
	// one factor that fits the steps of the same software that are marked fit; perfect scaling from the
	// step of the same software, model and setting on the fewest accelerators, where there is one.
	Roofline, Scaled, Scaling float64
}

// Rate returns the score of some of the judged steps; all are for fitting and for finding a smaller setting.
func Rate(some, all []Judged) Score {
	s := Score{Steps: len(some)}
	var errors, widths, rooflines, scaled, scaling []float64
	for i := range some {
		x := &some[i]
		if x.Inside() {
			s.Inside++
		}
		errors, widths = append(errors, factor(x.Error())), append(widths, x.Width())
		rooflines = append(rooflines, factor(math.Log(x.Roofline/x.StepMS)))
		scaled = append(scaled, factor(math.Log(x.Roofline*fitted(x, all)/x.StepMS)))
		if smaller := smallest(x, all); smaller != nil {
			perfect := smaller.StepMS * float64(smaller.GPUs) / float64(x.GPUs) * float64(x.Batch) /
				float64(smaller.Batch)
			scaling = append(scaling, factor(math.Log(perfect/x.StepMS)))
		}
	}
	s.Error, s.Width, s.Roofline = predict.Median(errors), predict.Median(widths), predict.Median(rooflines)
	s.Scaled, s.Scaling = predict.Median(scaled), predict.Median(scaling)
	return s
}

// factor turns a logarithm into a part by which one value exceeds another.
func factor(logarithm float64) float64 { return math.Exp(math.Abs(logarithm)) - 1 }

// fitted returns the median of published ÷ roofline of the other steps of the same software that are marked
// fit or, where there are none, of all others of the same kind that are marked fit.
func fitted(x *Judged, all []Judged) float64 {
	var own, any []float64
	for i := range all {
		y := &all[i]
		if y.Set != Fit || y.ID == x.ID || (y.Mode == "") != (x.Mode == "") {
			continue
		}
		any = append(any, y.StepMS/y.Roofline)
		if y.Software == x.Software {
			own = append(own, y.StepMS/y.Roofline)
		}
	}
	if len(own) > 0 {
		return predict.Median(own)
	}
	return predict.Median(any)
}

// smallest returns the step like x on the fewest accelerators, or nil if that is x.
func smallest(x *Judged, all []Judged) *Judged {
	var least *Judged
	for i := range all {
		if y := &all[i]; alike(x, y) && x.Compute == y.Compute && y.GPUs < x.GPUs &&
			(least == nil || y.GPUs < least.GPUs) {
			least = y
		}
	}
	return least
}

// alike reports whether two steps have the same software, model, accelerators and mode.
func alike(x, y *Judged) bool {
	return x.Software == y.Software && x.Version == y.Version && x.Model == y.Model &&
		x.Accelerator == y.Accelerator && x.Mode == y.Mode && x.PerServer == y.PerServer
}

// Trend is a change between two settings: by which factor the step was published to change, and was predicted
// to.
type Trend struct {
	From, To             *Judged
	Published, Predicted float64
}

// Right reports whether both have the same sign.
func (t *Trend) Right() bool { return (t.Published < 1) == (t.Predicted < 1) }

// level is the smallest change that counts as one: published times are rounded, and repeat to about that.
const level = 0.03

// Servers returns the trends from the most GPUs listed at a number of servers to the next larger number of
// servers, at the same global batch. Precision returns those from fp32 or tf32 to half precision. Changes of
// less than 3 % are left out, and so are pairs without a step marked test.
func Servers(all []Judged) []Trend {
	return trends(all, func(x, y *Judged) bool {
		if x.Compute != y.Compute || x.Batch != y.Batch || x.Servers >= y.Servers {
			return false
		}
		for i := range all {
			between := &all[i]
			if alike(x, between) && x.Compute == between.Compute && x.Batch == between.Batch &&
				x.GPUs < between.GPUs && between.Servers < y.Servers {
				return false
			}
		}
		return true
	})
}

// Precision is described with Servers.
func Precision(all []Judged) []Trend {
	return trends(all, func(x, y *Judged) bool {
		return x.Compute != "half" && y.Compute == "half" && x.Batch == y.Batch && x.GPUs == y.GPUs
	})
}

func trends(all []Judged, pair func(x, y *Judged) bool) (list []Trend) {
	for i := range all {
		for k := range all {
			x, y := &all[i], &all[k]
			if !alike(x, y) || (x.Set != Test && y.Set != Test) || !pair(x, y) {
				continue
			}
			t := Trend{x, y, y.StepMS / x.StepMS, y.Predicted / x.Predicted}
			if math.Abs(t.Published-1) >= level {
				list = append(list, t)
			}
		}
	}
	return list
}

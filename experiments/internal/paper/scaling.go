package paper

import (
	"fmt"
	"slices"
)

// Scaling is a data set of the scaling figure of the paper.
type Scaling struct {
	Name, Model string
	// Bars are throughputs in thousand samples a second, by system and then by ScalingGPUs.
	Bars [4][4]float64
	// Alone is Persia's bar on one GPU without dense communication.
	Alone float64
}

// The systems of Bars.
const (
	Persia = iota
	PaddlePaddle
	XDLAsync
	XDLSync
)

// ScalingGPUs are the numbers of GPUs of the scaling figure.
func ScalingGPUs() []int { return []int{1, 2, 4, 8} }

// ScalingFigure returns the bars, read from the figure in an earlier draft of Persia's tutorials. The curves
// of the paper agree.
func ScalingFigure() []Scaling {
	return []Scaling{
		{"Taobao", "taobao", [4][4]float64{{27.5, 55.1, 96.3, 178.9}, {11.8, 21.0, 44.1, 104.6},
			{3.7, 9.7, 14.7, 25.3}, {3.8, 8.4, 13.4, 21.3}}, 80.8},
		{"Avazu", "avazu", [4][4]float64{{28.5, 57.0, 96.4, 179.7}, {11.3, 23.2, 46.9, 94.7},
			{3.4, 6.1, 12.4, 22.6}, {2.6, 4.1, 8.6, 15}}, 82.1},
		{"Criteo", "criteo", [4][4]float64{{25.8, 51.6, 88.8, 162.8}, {11.2, 23.2, 47.0, 94.6},
			{2.6, 4.5, 9.8, 20.2}, {3.0, 5.8, 10.3, 18.1}}, 67.6},
	}
}

// Bar returns the bar of a system.
func (s *Scaling) Bar(system, gpus int) float64 {
	return s.Bars[system][slices.Index(ScalingGPUs(), gpus)]
}

// Lead returns Persia's bar divided by that of another system.
func (s *Scaling) Lead(over, gpus int) Figure {
	return BarRatio(s.Bar(Persia, gpus), s.Bar(over, gpus))
}

// Share returns what each of some GPUs with Persia has of one without dense communication.
func (s *Scaling) Share(gpus int) Figure {
	return BarRatio(s.Bar(Persia, gpus), s.Alone).Over(float64(gpus))
}

// Case returns the name of a case of the data set.
func (s *Scaling) Case(what string, gpus int) string {
	return fmt.Sprintf("%s, %s, %s", s.Name, what, GPUCount(gpus))
}

// GPUCount returns a number of GPUs in words.
func GPUCount(gpus int) string {
	if gpus == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", gpus)
}

// ReadingError is the error of a bar that is read from the scaling figure, in thousand samples a second.
const ReadingError = 0.2

// barError returns the error of a bar: two of them are hard to read.
func barError(value float64) float64 {
	if value == 14.7 || value == 15 {
		return 0.5
	}
	return ReadingError
}

// Bar returns a bar of the scaling figure with the error of its reading.
func Bar(value float64) Figure { return Digitised(value, barError(value)) }

// BarRatio returns the ratio of two bars of the scaling figure, each with the error of its reading.
func BarRatio(a, b float64) Figure {
	over, under := Bar(a), Bar(b)
	return Figure{a / b, over.Low / under.High, over.High / under.Low,
		fmt.Sprintf("%g ÷ %g, digitised ±%g", a, b, max(barError(a), barError(b)))}
}

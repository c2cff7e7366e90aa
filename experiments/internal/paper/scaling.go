package paper

import "fmt"

// ReadingError is the error of a bar that is read from the scaling figure, in thousand samples a second, and
// VagueError that of a bar that is hard to read.
const (
	ReadingError = 0.2
	VagueError   = 0.5
)

// Scaling is a data set of the scaling figure of the paper: throughputs on ScalingGPUs in thousand samples a
// second.
type Scaling struct {
	Name, Model                             string
	Persia, PaddlePaddle, XDLAsync, XDLSync [4]float64
	// Alone is Persia's bar on one GPU without dense communication.
	Alone float64
}

// ScalingGPUs are the numbers of GPUs of the scaling figure.
func ScalingGPUs() [4]int { return [4]int{1, 2, 4, 8} }

// ScalingFigure returns the bars, read from the figure in an earlier draft of Persia's tutorials. The curves
// of the paper agree.
func ScalingFigure() []Scaling {
	return []Scaling{
		{"Taobao", "taobao", [4]float64{27.5, 55.1, 96.3, 178.9}, [4]float64{11.8, 21.0, 44.1, 104.6},
			[4]float64{3.7, 9.7, 14.7, 25.3}, [4]float64{3.8, 8.4, 13.4, 21.3}, 80.8},
		{"Avazu", "avazu", [4]float64{28.5, 57.0, 96.4, 179.7}, [4]float64{11.3, 23.2, 46.9, 94.7},
			[4]float64{3.4, 6.1, 12.4, 22.6}, [4]float64{2.6, 4.1, 8.6, 15}, 82.1},
		{"Criteo", "criteo", [4]float64{25.8, 51.6, 88.8, 162.8}, [4]float64{11.2, 23.2, 47.0, 94.6},
			[4]float64{2.6, 4.5, 9.8, 20.2}, [4]float64{3.0, 5.8, 10.3, 18.1}, 67.6},
	}
}

// Bar returns a bar of the scaling figure with the error of its reading.
func Bar(value float64) Figure { return Digitised(value, barError(value)) }

// barError returns the error of a bar.
func barError(value float64) float64 {
	if value == 14.7 || value == 15 {
		return VagueError
	}
	return ReadingError
}

// BarRatio returns the ratio of two bars of the scaling figure, each with the error of its reading.
func BarRatio(a, b float64) Figure {
	over, under := Bar(a), Bar(b)
	return Figure{a / b, over.Low / under.High, over.High / under.Low,
		fmt.Sprintf("%g ÷ %g, digitised ±%g", a, b, max(barError(a), barError(b)))}
}

package paper

// FinalAUC is the AUC of a system on a data set at the last point of the paper's figure of convergence.
type FinalAUC struct {
	Set     string
	Samples float64
	// AUC is by system, as in Scaling.Bars.
	AUC [4]float64
}

// AUCReadingError is the error of an AUC that is read from the figure.
const AUCReadingError = 0.0005

// FinalAUCs returns the AUC on 8 GPUs at the last points of the figure of convergence, read from the figure
// in an earlier draft of Persia's tutorials.
func FinalAUCs() []FinalAUC {
	return []FinalAUC{
		{"Taobao", 1.97e7, [4]float64{0.6587, 0.5912, 0.6566, 0.6593}},
		{"Avazu", 3.04e7, [4]float64{0.7790, 0.7313, 0.7704, 0.7802}},
		{"Criteo", 4.26e7, [4]float64{0.8047, 0.7704, 0.8000, 0.8052}},
	}
}

// Systems returns the names of the systems, in the order of Scaling.Bars.
func Systems() []string { return []string{"Persia", "PaddlePaddle", "XDL async", "XDL sync"} }

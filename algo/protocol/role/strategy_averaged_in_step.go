package role

var averagedInStepStrategy = strategy{worker: func(*Config) denseSync { return &averagedInStep{} }}

// averagedInStep is averaged, but a rank does not start a step while an averaging round is due or in
// progress.
type averagedInStep struct{ averaged }

func (a *averagedInStep) ready(*NNWorker, *trainingBatch, *Outputs) bool { return a.round == absent }

func (a *averagedInStep) clone() denseSync {
	c := *a
	return &c
}

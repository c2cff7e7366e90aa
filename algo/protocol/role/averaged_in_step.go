package role

import "tandem/algo/protocol/pace"

func init() {
	register(pace.AveragedInStep, strategy{worker: func(*Config) denseSync { return &averagedInStep{} }})
}

// averagedInStep is averaged, but a rank starts no step while a round is due or under way.
type averagedInStep struct{ averaged }

func (a *averagedInStep) ready(*NNWorker, *training, *Outputs) bool { return a.round == absent }

func (a *averagedInStep) clone() denseSync {
	c := *a
	return &c
}

package dense

import "errors"

var errOwnReplicas = errors.New("dense: ranks have parameters of their own, which no other rank has")

// CopyRank returns a copy of what every rank holds of the network if the ranks reduce gradients in every
// step, and the number of steps of the run that it has. On devices, where each rank has weights of its own,
// it copies those of the rank with the most steps, because the hot rows of the process have as many. No rank
// of this process may have work.
func CopyRank(s Strategy) (part Part, steps int, err error) {
	d, err := inStep(s)
	if err != nil {
		return Part{}, 0, err
	}
	from := -1
	for rank, own := range d.byRank {
		if own != nil && (from < 0 || own.Steps() > d.byRank[from].Steps()) {
			from = rank
		}
	}
	if from < 0 {
		return Part{}, 0, errors.New("dense: no rank is in this process")
	}
	part, err = d.Export(nnWorkerAt(int32(from)))
	return part, d.byRank[from].Steps() - d.taken, err
}

// SetRank gives the ranks of this process what CopyRank has returned in another one.
func SetRank(s Strategy, part Part, steps int) error {
	d, err := inStep(s)
	if err != nil {
		return err
	}
	for rank, own := range d.byRank {
		if own == nil {
			continue
		}
		if err := d.Import(nnWorkerAt(int32(rank)), []Part{part}); err != nil {
			return err
		}
		d.taken = own.Steps() - steps
	}
	return nil
}

// inStep returns the strategy of ranks that reduce gradients in every step.
func inStep(s Strategy) (*reduced, error) {
	switch s := s.(type) {
	case *reduced:
		return s, nil
	case *withRows:
		return s.reduced, nil
	}
	return nil, errOwnReplicas
}

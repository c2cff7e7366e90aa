package role

import "tandem/algo/unit"

// Omitted returns what a loader or a PS would do if it looked at every rank, request and gradient once more.
func Omitted(r Role, now unit.Tick) []Output {
	var out Outputs
	switch r.(type) {
	case *DataLoader, *EmbeddingPS, *DensePS:
	default:
		return nil
	}
	switch r := r.Clone().(type) {
	case *DataLoader:
		r.dealOut(now, 0, r.cfg.Ranks, &out)
		r.readNext(0, r.cfg.Ranks, &out)
	case *EmbeddingPS:
		r.applyReady(now, &out)
		r.serveLookups(now, &out)
	case *DensePS:
		r.applyReady(now, &out)
	}
	return out.List
}

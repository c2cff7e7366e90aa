package dense

import (
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
)

// withRows is a strategy of ranks in lock step that also keeps hot embedding rows together: their gradients
// are one more bucket, the last, in model.Vector.Rows. For all other buckets it is the strategy it embeds.
type withRows struct {
	*reduced
	last  int32 // the bucket of the rows
	apply func(w role.Work, sums []float32) error
	// joined has for each rank of this process values of the network and of rows that are summed at once.
	joined [][]float32
}

// WithRows returns a strategy, which must be that of pace.Reduced, that sums the gradients of hot rows, too.
// After the optimizer step of the dense network it calls apply with their sums, from every rank of this
// process.
func WithRows(s Strategy, layout *model.Layout, apply func(w role.Work, sums []float32) error) Strategy {
	return &withRows{reduced: s.(*reduced), last: int32(len(layout.Buckets)), apply: apply}
}

// Reduce implements Reductions. Buckets of the network that come with the rows are summed with them, because
// every sum over processes has its wait.
func (r *withRows) Reduce(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error {
	of := Buckets{b.First, min(b.Last, r.last-1)} // the buckets of the network
	switch {
	case b.Last < r.last:
		return r.reduced.Reduce(sum, given, b, c)
	case b.First == r.last:
		return r.sumRows(sum, given, c)
	case r.summer != nil:
		if err := r.reduced.Reduce(sum, given, of, c); err != nil {
			return err
		}
		return r.sumRows(sum, given, c)
	}
	span := of.span(r.layout())
	values := bucketOf(given, span, false)
	if r.joined == nil {
		r.joined = make([][]float32, len(given))
	}
	for i, v := range given {
		r.joined[i] = append(append(r.joined[i][:0], values[i]...), v.Rows...)
	}
	if err := c.Sum(r.joined); err != nil {
		return err
	}
	copy(sum.Bucket(span), r.joined[0])
	sum.Rows = r.joined[0][span.Hi-span.Lo:]
	return r.gatherStats(sum, given, of, c)
}

// sumRows sums the gradients of the rows alone.
func (r *withRows) sumRows(sum *model.Vector, given []*model.Vector, c Collective) error {
	rows := make([][]float32, len(given))
	for i, v := range given {
		rows[i] = v.Rows
	}
	if err := c.Sum(rows); err != nil {
		return err
	}
	sum.Rows = rows[0]
	return nil
}

// ApplyGradients implements Replicas.
func (r *withRows) ApplyGradients(w role.Work, gradients *model.Vector) error {
	if err := r.reduced.ApplyGradients(w, gradients); err != nil {
		return err
	}
	return r.apply(w, gradients.Rows)
}

// withUpdate is a strategy of ranks in lock step that have embedding rows together on their devices. The
// update of these rows is one more bucket, the last.
type withUpdate struct {
	*reduced
	last   int32
	update func() error
}

// WithUpdate returns a strategy, which must be that of pace.Reduced, that calls update after the sums of each
// step. All ranks must be in this process.
func WithUpdate(s Strategy, layout *model.Layout, update func() error) Strategy {
	return &withUpdate{reduced: s.(*reduced), last: int32(len(layout.Buckets)), update: update}
}

// Reduce implements Reductions.
func (u *withUpdate) Reduce(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error {
	if b.First < u.last {
		if err := u.reduced.Reduce(sum, given, Buckets{b.First, min(b.Last, u.last-1)}, c); err != nil {
			return err
		}
	}
	if b.Last < u.last {
		return nil
	}
	return u.update()
}

package exec

import (
	"errors"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// dataLoaderWork is the work of the data loader.
type dataLoaderWork struct {
	*numerics
	source batch.Source
}

func (d *dataLoaderWork) byKind() map[role.WorkKind]workFunc {
	return map[role.WorkKind]workFunc{role.Read: d.read}
}

// dealt has the parts of a global batch, by rank, and their ids as they travel.
type dealt struct {
	parts []batch.Part
	ids   []*IDs
}

// read cuts the global batch of a step into the parts of the ranks.
func (d *dataLoaderWork) read(i item) (role.Result, error) {
	b, err := d.source.Read(d.first + int(i.Step))
	if err != nil {
		return role.Result{}, err
	}
	if b.Samples < 1 {
		return role.Result{}, errors.New("the batch is empty")
	}
	if err := d.schema.CheckWeights(b.Slots); err != nil {
		return role.Result{}, err
	}
	parts := batch.Cut(b, d.job.TotalGroups(), d.job.Roles.Ranks)
	all := &dealt{parts: parts}
	var r role.Result
	for i := range parts {
		part := &parts[i]
		ids := newIDs(d.schema, part, d.job.Wire.Index == job.IndexCompressed)
		all.ids = append(all.ids, ids)
		r.Samples = append(r.Samples, int32(part.Samples))
		r.IDBytes = append(r.IDBytes, unit.Bytes(ids.Size()))
		r.SampleBytes = append(r.SampleBytes, sampleBytes(part.Batch))
	}
	i.store.set(i.Makes[0], all)
	return r, nil
}

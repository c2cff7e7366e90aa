package work

import (
	"errors"
	"fmt"

	"tandem/algo/batch"
	"tandem/algo/compress"
	"tandem/algo/job"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/unit"
)

// idsMax is how many ids a sample may have in a slot, in the mean over a message from another process.
const idsMax = 4096

// CheckPayload checks the payload of a message that comes from another process and that role.Admit has admitted:
// that it has the type, sizes and counts that the message, the job and the data set demand. It cannot know whether
// numbers are true, and leaves it to the work to find those that are not finite.
//
// The error names the field. CheckPayload makes no memory. Cost: a pass over bounds, over the scales of values in
// blocks and, of compressed ids, over counts and positions.
func (p *Performer) CheckPayload(m msg.Message, payload any) error {
	if m.Rank < 0 || int(m.Rank) >= p.training.Ranks {
		return fmt.Errorf("%v: rank: %d, want 0 to %d", m, m.Rank, p.training.Ranks-1)
	}
	if err := p.checkSamples(m); err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	size, err := p.checkContent(m, payload)
	if err == nil && size != m.Bytes-msg.HeaderBytes {
		err = fmt.Errorf("bytes: %d, but the payload has %d beside the header", m.Bytes, size)
	}
	if err != nil {
		return fmt.Errorf("%v: payload: %w", m, err)
	}
	return nil
}

// checkSamples checks the counts of samples that a message states.
func (p *Performer) checkSamples(m msg.Message) error {
	switch m.Kind {
	case msg.IDFeatures, msg.Samples, msg.GetEmbeddings, msg.Lookup, msg.Rows, msg.Embeddings, msg.PutGradients, msg.Put:
	default:
		return nil
	}
	if m.StepSamples < 1 || int(m.StepSamples) > p.training.GlobalBatch {
		return fmt.Errorf("samples of the step: %d, want 1 to %d", m.StepSamples, p.training.GlobalBatch)
	}
	if p.quorum && (m.Kind == msg.PutGradients || m.Kind == msg.Put) {
		return nil // StepSamples are those of the ranks that count
	}
	if want := p.share(m); int(m.Samples) != want {
		return fmt.Errorf("samples: %d of the step's %d, but rank %d has %d of them", m.Samples, m.StepSamples, m.Rank, want)
	}
	return nil
}

// share returns how many samples of a message's step its rank has, by the rule of batch.Cut.
func (p *Performer) share(m msg.Message) int {
	groups, own, n := p.training.TotalGroups(), p.training.GroupsPerRank(), int(m.StepSamples)
	first := int(m.Rank) * own
	return (first+own)*n/groups - first*n/groups
}

// checkContent checks a payload, and returns the size that its message must state, header aside.
func (p *Performer) checkContent(m msg.Message, payload any) (unit.Bytes, error) {
	switch m.Kind {
	case msg.IDFeatures:
		if ids, ok := payload.(*IDs); ok {
			return unit.Bytes(ids.Size()), p.checkIDs(m, ids)
		}
	case msg.Samples:
		if part, ok := payload.(*batch.Part); ok {
			if part.Batch == nil {
				return 0, errors.New("samples: none")
			}
			return unit.Bytes(4 * (len(part.Dense) + len(part.Labels))), p.checkPart(m, part)
		}
	case msg.Lookup:
		if signs, ok := payload.(compress.Signs); ok {
			_, err := p.checkSigns(m, signs)
			return unit.Bytes(signs.Size()), err
		}
	case msg.Put:
		if put, ok := payload.(*Put); ok {
			return unit.Bytes(put.Signs.Size() + put.Sums.Size()), p.checkPut(m, put)
		}
	case msg.Rows, msg.Embeddings, msg.PutGradients:
		if values, ok := payload.(compress.Values); ok {
			return unit.Bytes(values.Size()), p.checkValues(m, values)
		}
	case msg.Params, msg.Push:
		if values, ok := payload.([]float32); ok {
			return unit.Bytes(4 * len(values)), p.dense.checkShard(m, values)
		}
	default:
		if payload == nil {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("type: %T is not that of %v", payload, m.Kind)
}

// checkGroups checks how a part is cut into groups.
func (p *Performer) checkGroups(m msg.Message, samples, firstGroup int, bounds []int) error {
	groups, own, n := p.training.TotalGroups(), p.training.GroupsPerRank(), int(m.StepSamples)
	first := int(m.Rank) * own
	switch {
	case samples != int(m.Samples):
		return fmt.Errorf("samples: %d, but the message states %d", samples, m.Samples)
	case firstGroup != first:
		return fmt.Errorf("first group: %d, want %d", firstGroup, first)
	case len(bounds) != own+1:
		return fmt.Errorf("bounds: %d, want %d", len(bounds), own+1)
	}
	for g, bound := range bounds {
		if want := (first+g)*n/groups - first*n/groups; bound != want {
			return fmt.Errorf("bounds: %d of group %d, want %d", bound, first+g, want)
		}
	}
	return nil
}

func (p *Performer) checkIDs(m msg.Message, ids *IDs) error {
	if err := p.checkGroups(m, ids.Samples, ids.FirstGroup, ids.Bounds); err != nil {
		return err
	}
	slots, count := len(p.schema.Slots), 0
	if p.training.Index == job.IndexCompressed && slots > 0 {
		var err error
		if count, err = compress.CountIDs(ids.Packed, slots, ids.Samples); err != nil {
			return fmt.Errorf("ids: %w", err)
		}
		if len(ids.Columns) > 0 {
			return errors.New("ids: raw, want them compressed")
		}
	} else {
		if len(ids.Columns) != slots || len(ids.Packed) > 0 {
			return fmt.Errorf("ids: %d raw columns and %d compressed bytes, want %d columns", len(ids.Columns), len(ids.Packed), slots)
		}
		for slot, c := range ids.Columns {
			// That offsets ascend is checked where they are decoded.
			if n := len(c.Offsets); n != ids.Samples+1 || int(c.Offsets[n-1]) != len(c.IDs) {
				return fmt.Errorf("ids of slot %d: %d offsets do not cut %d ids into %d samples", slot, n, len(c.IDs), ids.Samples)
			}
			count += len(c.IDs)
		}
	}
	if most := idsMax * slots * ids.Samples; count > most {
		return fmt.Errorf("ids: %d, want at most %d: %d a sample and slot", count, most, idsMax)
	}
	return nil
}

func (p *Performer) checkPart(m msg.Message, part *batch.Part) error {
	if err := p.checkGroups(m, part.Samples, part.FirstGroup, part.Bounds); err != nil {
		return err
	}
	if got, want := len(part.Dense), part.Samples*len(p.schema.Dense); got != want {
		return fmt.Errorf("numeric features: %d, want %d", got, want)
	}
	if got, want := len(part.Labels), part.Samples*len(p.schema.Labels); got != want {
		return fmt.Errorf("labels: %d, want %d", got, want)
	}
	return nil
}

// checkSigns returns the number of signs.
func (p *Performer) checkSigns(m msg.Message, signs compress.Signs) (int, error) {
	if len(signs.Packed) > 0 && (len(signs.Plain) > 0 || p.training.Index != job.IndexCompressed) {
		return 0, errors.New("signs: compressed, want them plain")
	}
	count, err := signs.Count()
	if err != nil {
		return 0, fmt.Errorf("signs: %w", err)
	}
	if most := p.signsMax(m); count > most {
		return 0, fmt.Errorf("signs: %d, want at most %d", count, most)
	}
	return count, nil
}

// signsMax returns the largest number of distinct signs that the batch of a message may have.
func (p *Performer) signsMax(m msg.Message) int {
	rows := 0
	for _, slot := range p.schema.Slots {
		rows += slot.RowsPerID()
	}
	return idsMax * rows * p.samplesOf(m)
}

// samplesOf returns the number of samples of a message, within bounds.
func (p *Performer) samplesOf(m msg.Message) int {
	return min(max(int(m.Samples), 0), p.training.GlobalBatch)
}

func (p *Performer) checkPut(m msg.Message, put *Put) error {
	if put.Samples != int(m.Samples) {
		return fmt.Errorf("samples: %d, but the message states %d", put.Samples, m.Samples)
	}
	signs, err := p.checkSigns(m, put.Signs)
	if err != nil {
		return err
	}
	if err := put.Sums.Check(p.training.Wire, signs*p.dim); err != nil {
		return fmt.Errorf("sums of %d signs: %w", signs, err)
	}
	return p.checkLooked(m, signs)
}

// checkLooked checks that a put is of as many signs as the lookup of its batch, if that is known.
func (p *Performer) checkLooked(m msg.Message, signs int) error {
	if i := int(m.To.Index); i >= 0 && i < len(p.shards) && p.shards[i] != nil {
		if looked, known := p.shards[i].looked(batchName{m.Rank, m.Step}); known && looked != signs {
			return fmt.Errorf("signs: %d, but %d were looked up", signs, looked)
		}
	}
	return nil
}

// checkValues checks rows, pooled embeddings or their gradients. How many rows there must be is not known here.
func (p *Performer) checkValues(m msg.Message, values compress.Values) error {
	if m.Kind == msg.Rows {
		return nil
	}
	if err := values.Check(p.training.Wire, int(m.Samples)*p.width); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	return nil
}

// CheckHeld checks counts of a payload that CheckPayload lets pass against what the receiver holds of the batch in
// its store. Work on a payload that passes finds no length amiss.
func (p *Performer) CheckHeld(s *Store, m msg.Message, payload any) error {
	values, ok := payload.(compress.Values)
	if !ok {
		return nil
	}
	var count int
	routed, known := peek[*resolved](s, role.Handle{Kind: role.RoutedIDs, Rank: m.Rank, Step: m.Step})
	part, here := peek[*batch.Part](s, role.Handle{Kind: role.BatchSamples, Rank: m.Rank, Step: m.Step})
	switch {
	case m.Kind == msg.Rows && known:
		count = len(routed.Of(int(m.From.Index))) * p.dim
	case m.Kind == msg.PutGradients && known:
		count = routed.Samples() * p.width
	case m.Kind == msg.Embeddings && here:
		count = part.Samples * p.width
	default:
		return nil // the receiver has not asked for it
	}
	if err := values.Check(p.training.Wire, count); err != nil {
		return fmt.Errorf("%v: payload: values: %w", m, err)
	}
	return nil
}

// FrameMax returns the largest size that the frame of a message from another process may have. It is enough for
// every payload that CheckPayload lets pass.
func (p *Performer) FrameMax(m msg.Message) unit.Bytes {
	if !m.Kind.HasPayload() {
		return msg.HeaderBytes
	}
	samples := unit.Bytes(p.samplesOf(m))
	slots, most := unit.Bytes(len(p.schema.Slots)), unit.Bytes(0)
	switch m.Kind {
	case msg.IDFeatures:
		most = samples * slots * (8*idsMax + 4)
	case msg.Samples:
		most = 4 * samples * unit.Bytes(len(p.schema.Dense)+len(p.schema.Labels))
	case msg.Lookup:
		most = 8 * unit.Bytes(p.signsMax(m))
	case msg.Rows:
		most = 4 * unit.Bytes(p.signsMax(m)*p.dim)
	case msg.Put:
		most = unit.Bytes(p.signsMax(m) * (8 + 4*p.dim))
	case msg.Embeddings, msg.PutGradients:
		most = 4 * samples * unit.Bytes(p.width)
	case msg.Params, msg.Push:
		layout := p.engine.Layout()
		return msg.HeaderBytes + frameOverhead + unit.Bytes(4*(layout.Params+layout.Running+p.training.TotalGroups()*layout.Stats))
	}
	// What roles count does not include lengths, bounds, and zeros behind arrays.
	overhead := frameOverhead + 32*slots + 8*unit.Bytes(p.training.TotalGroups())
	return min(max(m.Bytes, msg.HeaderBytes), msg.HeaderBytes+most) + overhead
}

// frameOverhead is more than what lengths and zeros behind arrays take in a frame, slots and groups aside.
const frameOverhead = 256

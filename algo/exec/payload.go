package exec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Payload is the data of a message: one of the types of this file, or a type that embeds Travels. A message
// without data has a nil Payload.
type Payload interface{ payload() }

// Travels makes a type that embeds it a Payload, for the messages of other packages.
type Travels struct{}

func (Travels) payload() {}

func (*IDs) payload()       {}
func (Samples) payload()    {}
func (Signs) payload()      {}
func (*MixedRows) payload() {}
func (Values) payload()     {}
func (*Put) payload()       {}
func (*Pooled) payload()    {}

func (*PooledAndIDs) payload() {}

func (DenseShard) payload() {}

// Letter is a message with its payload, on its way to another process.
type Letter struct {
	Message msg.Message
	Payload Payload
	// Free, if not nil, may be called once, from any goroutine, when the payload has been copied or dropped:
	// see Executor.Lend.
	Free func()
}

// Samples is the payload of Samples: numeric features, labels and weights of a rank's part of a batch. The
// receiver does not need its ids.
type Samples struct{ *batch.Part }

// sampleBytes returns the size of the Samples of a part.
func sampleBytes(b *batch.Batch) unit.Bytes {
	return unit.Bytes(4 * (len(b.Dense) + len(b.Labels) + len(b.Weights)))
}

// Signs is the payload of Lookup.
type Signs struct{ compress.Signs }

// Values is the payload of Rows, Embeddings and PutGradients.
type Values struct{ compress.Values }

// Pooled is the payload of Embeddings, and of PutGradients, where slots take maxima: the pooled embeddings or
// their gradients, and which id of its bag each maximum is of. A rank returns these numbers, so that an EW
// needs nothing of the rows once they are pooled: one that takes the place of another can sum gradients.
type Pooled struct {
	Values  compress.Values
	Winners Winners
}

// Size returns the number of bytes on a wire.
func (p *Pooled) Size() int { return p.Values.Size() + len(p.Winners) }

// Winners are the numbers of route.Routed.PoolOn as they travel: little endian, each of 1, 2 or 4 bytes, the
// fewest that hold all.
type Winners []byte

// packWinners returns numbers as they travel.
func packWinners(numbers []int32) Winners {
	largest := int32(0)
	for _, n := range numbers {
		largest = max(largest, n)
	}
	switch {
	case largest < 1<<8:
		packed := make(Winners, len(numbers))
		for i, n := range numbers {
			packed[i] = byte(n)
		}
		return packed
	case largest < 1<<16:
		packed := make(Winners, 0, 2*len(numbers))
		for _, n := range numbers {
			packed = binary.LittleEndian.AppendUint16(packed, uint16(n))
		}
		return packed
	}
	packed := make(Winners, 0, 4*len(numbers))
	for _, n := range numbers {
		packed = binary.LittleEndian.AppendUint32(packed, uint32(n))
	}
	return packed
}

// check returns an error unless the bytes are those of a number of winners.
func (w Winners) check(numbers int) error {
	if len(w) != numbers && len(w) != 2*numbers && len(w) != 4*numbers {
		return fmt.Errorf("winners: %d bytes, want 1, 2 or 4 for each of %d", len(w), numbers)
	}
	return nil
}

// unpack returns the numbers, of which there must be a number.
func (w Winners) unpack(numbers int) ([]int32, error) {
	if err := w.check(numbers); err != nil {
		return nil, err
	}
	out := make([]int32, numbers)
	for i := range out {
		switch len(w) / numbers {
		case 1:
			out[i] = int32(w[i])
		case 2:
			out[i] = int32(binary.LittleEndian.Uint16(w[2*i:]))
		default:
			out[i] = int32(binary.LittleEndian.Uint32(w[4*i:]))
		}
	}
	return out, nil
}

// MixedRows is the payload of Embeddings where rows are hot: a rank pools the bags with hot rows itself. See
// route.Mixed.
type MixedRows struct {
	// Values are the pooled embeddings of the bags without a hot row, followed by the Cold rows that share a
	// bag with hot ones.
	Values compress.Values
	Cold   int
	Places []int32      // in shard.Hot.Signs, of the distinct hot rows of the batch
	Slots  []route.Bags // the bags with hot rows
	// Winners are of all samples, as in Pooled; empty if no slot takes a maximum. No row of such a slot is
	// hot.
	Winners Winners
}

// Size returns the number of bytes on a wire: 4 for a place, a row of a bag and an offset.
func (m *MixedRows) Size() int {
	numbers := len(m.Places)
	for _, own := range m.Slots {
		numbers += len(own.Rows) + len(own.Offsets)
	}
	return m.Values.Size() + 4*numbers + len(m.Winners)
}

// DenseShard is the payload of Params and Push: the values of one dense PS's shard, followed on dense-ps 0 by
// statistics.
type DenseShard []float32

// IDs is the payload of IDFeatures: the id features of a rank's part of a batch, in Columns or Packed. Where
// the ranks have all rows, an EW passes it on as the payload of Embeddings.
type IDs struct {
	Samples    int
	FirstGroup int
	Bounds     []int          // see batch.Part
	Columns    []batch.Jagged // by slot, if ids are raw
	Packed     []byte         // by compress.AppendIDs, if they are compressed
	// Weights are those of the ids of all slots that have some (batch.Slot.Weighted), one slot after the
	// other; Columns have none. Empty: all are 1.
	Weights []float32
}

// newIDs returns the id features of a part. Raw ids alias the part.
func newIDs(schema *batch.Schema, part *batch.Part, compressed bool) *IDs {
	ids := &IDs{Samples: part.Samples, FirstGroup: part.FirstGroup, Bounds: part.Bounds,
		Weights: joinWeights(schema, part.Slots)}
	if compressed {
		ids.Packed = compress.AppendIDs(nil, part.Slots)
		return ids
	}
	for _, own := range part.Slots {
		ids.Columns = append(ids.Columns, batch.Jagged{Offsets: own.Offsets, IDs: own.IDs})
	}
	return ids
}

// joinWeights returns the weights of the ids of all slots that have some, nil if all are 1.
func joinWeights(schema *batch.Schema, slots []batch.Jagged) (all []float32) {
	if !slices.ContainsFunc(slots, func(own batch.Jagged) bool { return own.Weights != nil }) {
		return nil
	}
	for s, own := range slots {
		switch {
		case !schema.Slots[s].Weighted:
		case own.Weights != nil:
			all = append(all, own.Weights...)
		default:
			all = append(all, slices.Repeat([]float32{1}, len(own.IDs))...)
		}
	}
	return all
}

// Size returns the number of bytes on a wire; a raw id has 8 bytes, an offset and a weight 4.
func (d *IDs) Size() int {
	size := len(d.Packed) + 4*len(d.Weights)
	for _, c := range d.Columns {
		size += 8*len(c.IDs) + 4*len(c.Offsets)
	}
	return size
}

// part returns a part that has ids only, unpacked, with their weights. It returns an error unless the weights
// fit the ids and can be used.
func (d *IDs) part(schema *batch.Schema) (batch.Part, error) {
	columns := d.Columns
	if len(d.Packed) > 0 {
		var err error
		if columns, err = compress.ReadIDs(d.Packed, len(schema.Slots), d.Samples); err != nil {
			return batch.Part{}, err
		}
	}
	columns, err := d.withWeights(schema, columns)
	return batch.Part{
		Batch: &batch.Batch{Samples: d.Samples, Slots: columns}, FirstGroup: d.FirstGroup, Bounds: d.Bounds,
	}, err
}

// withWeights returns columns of ids with their weights.
func (d *IDs) withWeights(schema *batch.Schema, columns []batch.Jagged) ([]batch.Jagged, error) {
	if len(d.Weights) == 0 {
		return columns, nil
	}
	columns, rest := slices.Clone(columns), d.Weights
	for s := range columns {
		if n := len(columns[s].IDs); schema.Slots[s].Weighted {
			if n > len(rest) {
				return nil, fmt.Errorf("weights of ids: %d, and there are more ids", len(d.Weights))
			}
			columns[s].Weights, rest = rest[:n:n], rest[n:]
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("weights of ids: %d, and there are fewer ids", len(d.Weights))
	}
	return columns, schema.CheckWeights(columns)
}

// Put is the payload of Put: the row gradient sums of one rank for one PS.
type Put struct {
	Samples int // of the rank's part
	Signs   compress.Signs
	Sums    compress.Values // of every sign's row, one dimension after the other
}

// unpack returns the put with plain signs and float32 sums, cut by dimension.
func (u *Put) unpack(rank int, dims batch.Dims) ([]route.Put, error) {
	signs, err := u.Signs.Unpack()
	if err != nil {
		return nil, err
	}
	values, err := dims.Values(signs)
	if err != nil {
		return nil, err
	}
	sums, err := u.Sums.Unpack(values)
	if err != nil {
		return nil, err
	}
	all := route.Put{Rank: rank, Samples: u.Samples, Signs: signs, Sums: sums}
	return all.ByDim(dims)
}

// Payload returns the payload of a message whose data the sender's store holds under h: the part for the
// receiver, in the form in which it travels, because work packs its results and unpacks its operands. It
// returns nil if the message has no data. The payload stays valid and unchanged after the sender has released
// h.
func (e *Executor) Payload(s *Store, m msg.Message, h role.Handle) Payload {
	payload, _ := e.Lend(s, m, h) // and its memory is never used again
	return payload
}

// Lend is Payload for a driver that says when the payload is no longer needed, by calling free once: the
// memory is used again when everybody to whom it was lent has called free, and the sender has released h. A
// receiver that keeps the payload needs it until it releases its own handle: see Keep. If free is never
// called, the memory is garbage collected. It is nil for memory that is not used again.
func (e *Executor) Lend(s *Store, m msg.Message, h role.Handle) (payload Payload, free func()) {
	if payload = e.payload(s, m, h); payload != nil {
		if l := s.hold(h); l != nil {
			free = l.end
		}
	}
	return payload, free
}

// payload is Payload, which stays valid as long as the lease of h, if there is one.
func (e *Executor) payload(s *Store, m msg.Message, h role.Handle) Payload {
	switch m.Kind {
	case msg.IDFeatures:
		return get[*dealt](s, h).ids[m.Rank]
	case msg.Samples:
		return Samples{&get[*dealt](s, h).parts[m.Rank]}
	case msg.Lookup:
		return Signs{get[*resolved](s, h).signs[m.To.Index]}
	case msg.Rows:
		return Values{get[compress.Values](s, h)}
	case msg.Embeddings:
		if mixed, is := find[*MixedRows](s, h); is {
			return mixed
		}
		if ids, is := find[*IDs](s, h); is {
			return ids
		}
		if pooled, is := find[*Pooled](s, h); is {
			return pooled
		}
		if both, is := find[*PooledAndIDs](s, h); is {
			return both
		}
		return Values{get[compress.Values](s, h)}
	case msg.PutGradients:
		if pooled, is := find[*Pooled](s, h); is {
			return pooled
		}
		return Values{get[compress.Values](s, h)}
	case msg.Put:
		return get[[]*Put](s, h)[m.To.Index]
	case msg.Params:
		return DenseShard(get[[]float32](s, h))
	case msg.Push:
		return DenseShard(e.dense.PushTo(get[*model.Vector](s, h), m.To.Index))
	}
	return nil
}

// Keep stores the payload of a message in the store of its receiver, under h. Unless free is nil, Release of
// h calls it, after which the memory of the payload is used for other payloads. So no work that reads h may
// be in flight when a role releases it. It panics if there is no payload.
func (e *Executor) Keep(s *Store, m msg.Message, h role.Handle, payload Payload, free func()) {
	if payload == nil {
		panic(fmt.Sprintf("exec: %v has no payload to keep", m))
	}
	switch payload := payload.(type) {
	case Samples:
		s.set(h, payload.Part)
	case Signs:
		s.set(h, payload.Signs)
	case Values:
		if m.Kind == msg.Rows {
			setReceivedPart(s, h, e.numerics.job.Roles.EmbeddingPSs, m.From.Index, payload.Values)
		} else {
			s.set(h, payload.Values)
		}
	case DenseShard:
		if m.Kind == msg.Params {
			setReceivedPart(s, h, e.dense.ServerCount(), m.From.Index, []float32(payload))
		} else {
			s.set(h, []float32(payload))
		}
	default:
		s.set(h, payload)
	}
	if free != nil {
		s.freeOnRelease(h, free)
	}
}

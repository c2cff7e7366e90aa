package work

import (
	"fmt"

	"tandem/algo/batch"
	"tandem/algo/compress"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/route"
)

// IDs is the payload of IDFeatures: the id features of a rank's part of a
// batch, in Columns or Packed.
type IDs struct {
	Samples    int
	FirstGroup int
	Bounds     []int          // as those of batch.Part
	Columns    []batch.Jagged // by slot, if ids are raw
	Packed     []byte         // by compress.AppendIDs, if they are compressed
}

// newIDs returns the id features of a part, which raw ones alias.
func newIDs(part *batch.Part, compressed bool) *IDs {
	ids := &IDs{Samples: part.Samples, FirstGroup: part.FirstGroup, Bounds: part.Bounds}
	if compressed {
		ids.Packed = compress.AppendIDs(nil, part.Slots)
	} else {
		ids.Columns = part.Slots
	}
	return ids
}

// Size returns the number of bytes on a wire: of a raw id 8, of an offset 4.
func (d *IDs) Size() int {
	size := len(d.Packed)
	for _, c := range d.Columns {
		size += 8*len(c.IDs) + 4*len(c.Offsets)
	}
	return size
}

// part returns a part that has ids alone.
func (d *IDs) part(slots int) (batch.Part, error) {
	columns := d.Columns
	if len(d.Packed) > 0 {
		var err error
		if columns, err = compress.ReadIDs(d.Packed, slots, d.Samples); err != nil {
			return batch.Part{}, err
		}
	}
	return batch.Part{
		Batch: &batch.Batch{Samples: d.Samples, Slots: columns}, FirstGroup: d.FirstGroup, Bounds: d.Bounds,
	}, nil
}

// Put is the payload of Put: the row gradient sums of one rank for one PS.
type Put struct {
	Samples int // of the rank's part
	Signs   compress.Signs
	Sums    compress.Values // of every sign's row
}

// unpack returns the put as the PS applies it.
func (u *Put) unpack(rank, dim int) (route.Put, error) {
	signs, err := u.Signs.Unpack()
	if err != nil {
		return route.Put{}, err
	}
	sums, err := u.Sums.Unpack(len(signs) * dim)
	return route.Put{Rank: rank, Samples: u.Samples, Signs: signs, Sums: sums}, err
}

// Payload returns the data that travels with a message: what is for its receiver of
// what the sender's store holds as h; nil if h names no data. It stays valid and unchanged after the sender has
// released it, and has the form in which it travels already: work packs what
// it makes and unpacks what it takes.
//
//	IDFeatures                           *IDs
//	Samples                              *batch.Part, whose ids the receiver does not need
//	Lookup                               compress.Signs
//	Rows, Embeddings, PutGradients       compress.Values
//	Put                                  *Put
//	Params, Push                         []float32
func (e *Executor) Payload(s *Store, m msg.Message, h role.Handle) any {
	switch m.Kind {
	case msg.IDFeatures:
		return get[*dealt](s, h).ids[m.Rank]
	case msg.Samples:
		return &get[*dealt](s, h).parts[m.Rank]
	case msg.Lookup:
		return get[*resolved](s, h).signs[m.To.Index]
	case msg.Rows:
		return get[compress.Values](s, h)
	case msg.Embeddings:
		return get[compress.Values](s, h)
	case msg.PutGradients:
		return get[compress.Values](s, h)
	case msg.Put:
		return get[[]*Put](s, h)[m.To.Index]
	case msg.Params:
		return get[[]float32](s, h)
	case msg.Push:
		return e.dense.pushOf(get[*model.Vector](s, h), m.To.Index)
	}
	return nil
}

// Keep stores the payload of a message that its receiver keeps as h.
func (e *Executor) Keep(s *Store, m msg.Message, h role.Handle, payload any) {
	if payload == nil {
		panic(fmt.Sprintf("work: %v has no payload to keep", m))
	}
	switch m.Kind {
	case msg.Rows:
		keepShard(s, h, e.numerics.training.ParameterServers, m.From.Index, payload.(compress.Values))
		return
	case msg.Params:
		keepShard(s, h, e.dense.servers(), m.From.Index, payload.([]float32))
		return
	}
	s.keep(h, payload)
}

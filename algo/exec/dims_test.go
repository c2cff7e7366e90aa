package exec

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// unequal are the data of the exchange, in slots of 5 and 3 values.
func unequal() *exectest.Columns {
	c := exectest.NewColumns(16, 16)
	c.Fields.Slots[0].Dim = 5
	return c
}

// Where slots differ in dimension, what correct roles send passes in every form.
func TestCorrectPayloadsOfDimensionsBySlotPass(t *testing.T) {
	for _, wire := range compress.Forms() {
		for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
			settings := exectest.Job(2, 2)
			settings.Wire.Precision, settings.Wire.Index = wire, index
			exchangeOf(t, settings, unequal())
		}
	}
}

// Signs in another order than that of dimensions, sums that do not fit their rows, and puts with other
// numbers of rows of a dimension than were looked up are refused: work would give rows the values of others.
func TestWrongPayloadsOfDimensionsBySlotAreRefused(t *testing.T) {
	for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
		settings := exectest.Job(2, 2)
		settings.Wire.Index = index
		p, stores, all := exchangeOf(t, settings, unequal())
		of := func(signs []uint64) compress.Signs {
			if index == job.IndexCompressed {
				return compress.PackSigns(signs, 8)
			}
			return compress.Signs{Plain: signs}
		}
		honest := all[msg.Put].payload.(*Put)
		signs, err := honest.Signs.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		cut, err := p.numerics.dims.Cut(signs)
		if err != nil || len(cut) != 2 || len(cut[0]) == 0 || len(cut[1]) == 0 {
			t.Fatalf("signs %x, %v", signs, err)
		}
		reversed := slices.Clone(signs)
		slices.Reverse(reversed)
		put := func(signs []uint64, values int) *Put {
			sums := compress.Pack(compress.FP32, make([]float32, values))
			return &Put{Samples: 8, Signs: of(signs), Sums: sums}
		}
		moved := append(slices.Clone(cut[0][1:]), append(cut[1], cut[1][0]+1000)...)
		for _, c := range []struct {
			kind    msg.Kind
			payload Payload
			want    string
		}{
			{msg.Lookup, Signs{of(reversed)}, "not in the order of the dimensions"},
			{msg.Lookup, Signs{of([]uint64{5})}, "or of no slot"},
			{msg.Put, put(reversed, 5*len(cut[0])+3*len(cut[1])), "not in the order of the dimensions"},
			{msg.Put, put(signs, 5*len(signs)), "sums of "},
			{msg.Put, put(signs, 3*len(signs)), "sums of "},
			{msg.Put, put(moved, 5*(len(cut[0])-1)+3*(len(cut[1])+1)), "signs: a put of "},
			{msg.Rows, Values{compress.Pack(compress.FP32, make([]float32, 3*len(signs)))}, "values: "},
		} {
			m := all[c.kind].m
			m.Bytes = msg.HeaderBytes + sizeOf(t, c.payload)
			if err := examine(p, stores[m.To], m, c.payload); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v: %v, want %q", index, c.kind, err, c.want)
			}
		}
		m := all[msg.Put].m
		m.Bytes = msg.HeaderBytes + unit.Bytes(honest.Signs.Size()+honest.Sums.Size())
		if err := examine(p, stores[m.To], m, honest); err != nil {
			t.Errorf("%s: the honest put is refused: %v", index, err)
		}
	}
}

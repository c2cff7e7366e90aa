package datasets

import (
	"bytes"
	"strconv"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
)

// libfmSchema has a single slot. The columns of a libfm file are known only after its last
// line: see splitFields.
func libfmSchema() batch.Schema {
	return newSchema([]string{"features"}, nil, "label")
}

// decodeLibFM decodes the sparse lines of libfm and libsvm,
//
//	label index:1 index:1 …
//
// separated by spaces or tabs, with labels 1 and either 0 or −1. The index is the id. Every
// value must be 1, because an id is either present or absent.
func decodeLibFM(line []byte, r *decode.Row) *decode.BadRow {
	label, rest := cutBlank(line)
	switch string(label) {
	case "1", "+1", "1.0":
		r.Labels[0] = 1
	case "0", "-1", "0.0", "-1.0":
		r.Labels[0] = 0
	default:
		return decode.BadField("label", label, "label must be 0 or 1, or -1 or 1")
	}
	for number := 1; ; number++ {
		var feature []byte
		if feature, rest = cutBlank(rest); len(feature) == 0 {
			return nil
		}
		id, reason := libfmFeature(feature)
		if reason != "" {
			return decode.BadField("feature "+strconv.Itoa(number), feature, reason)
		}
		r.IDs[0] = append(r.IDs[0], id)
	}
}

func libfmFeature(feature []byte) (id uint64, reason string) {
	index, value, found := bytes.Cut(feature, []byte{':'})
	if !found {
		return 0, "not of the form index:1"
	}
	id, err := strconv.ParseUint(string(index), 10, 64)
	if err != nil {
		return 0, "index is not an unsigned integer"
	}
	if one, err := strconv.ParseFloat(string(value), 64); err != nil || one != 1 {
		return 0, "value must be 1: numeric features are read from csv"
	}
	return id, ""
}

// cutBlank returns the first word of text and what follows it.
func cutBlank(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	if i := bytes.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, nil
}

// splitFields splits the one slot of libfm parts into one slot per position if every row of
// every part has the same number of ids, at least two: such files (Frappe, MovieLens) list the
// same fields in the same order in each line. Otherwise the parts keep the one slot, and its
// ids are pooled together.
func splitFields(schema batch.Schema, parts ...*batch.Batch) batch.Schema {
	fields := len(parts[0].Slots[0].SampleIDs(0))
	for _, part := range parts {
		for i := range part.Samples {
			if len(part.Slots[0].SampleIDs(i)) != fields {
				return schema
			}
		}
	}
	if fields < 2 {
		return schema
	}
	for _, part := range parts {
		part.Slots = fieldSlots(part.Slots[0].IDs, part.Samples, fields)
	}
	return newSchema(numbered("field", fields), nil, schema.Labels[0])
}

// fieldSlots returns the columns of a samples×fields matrix of ids.
func fieldSlots(ids []uint64, samples, fields int) []batch.Jagged {
	slots := make([]batch.Jagged, fields)
	for f := range slots {
		slots[f] = batch.Jagged{Offsets: make([]int32, samples+1), IDs: make([]uint64, samples)}
		for i := range samples {
			slots[f].Offsets[i+1] = int32(i + 1)
			slots[f].IDs[i] = ids[i*fields+f]
		}
	}
	return slots
}

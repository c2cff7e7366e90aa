package datasets

import (
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
)

// taobaoSteps is the length of the behaviour sequences of a row.
const taobaoSteps = 50

// Positions in a row. The row begins with five sequences.
const (
	taobaoMask  = 3 * taobaoSteps // after cont_btag, his_cate and his_brand
	taobaoFirst = 5 * taobaoSteps // after mask and match_mask
)

// taobaoSequences returns the names of the sequences that become slots.
func taobaoSequences() []string { return []string{"cont_btag", "his_cate", "his_brand"} }

// taobaoTail returns the columns after the sequences. The column mid is the ad.
func taobaoTail() []string {
	return []string{
		"uid", "cms_segid", "cms_group_id", "final_gender_code", "age_level", "pvalue_level",
		"shopping_level",
		"occupation", "new_user_class_level", "mid", "cate_id", "campaign_id", "customer", "brand", "price",
		"pid", "target",
	}
}

// taobaoColumns returns the names of all 267 fields; the fields of a sequence share a name.
func taobaoColumns() []string {
	var columns []string
	for _, name := range append(taobaoSequences(), "mask", "match_mask") {
		columns = append(columns, slices.Repeat([]string{name}, taobaoSteps)...)
	}
	return append(columns, taobaoTail()...)
}

func taobaoSchema() batch.Schema {
	slots := taobaoSequences()
	for _, name := range taobaoTail() {
		if name != "price" && name != "target" {
			slots = append(slots, name)
		}
	}
	return newSchema(slots, []string{"price"}, "target")
}

// taobaoTable is the format of the Taobao display-ad clicks (Ali_Display_Ad_Click, Tianchi 56)
// in the layout of the DMR model: commas, 267 fields, with or without a header. Each of three
// sequences of 50 past events (kind of behaviour, category, brand) becomes a slot with the
// ids of the steps whose mask is 1; the other steps are padding. An id of 0 that is not masked
// means unknown and is an id like any other. The column match_mask, which belongs to the
// auxiliary loss of DMR, is ignored.
//
// Source of the layout: Lyu et al., AAAI 2020; PaddleRec, models/rank/dmr.
func taobaoTable() *decode.Table {
	return &decode.Table{Delimiter: ",", Columns: taobaoColumns(), OptionalHeader: true,
		NewDecoder: newTaobaoDecoder}
}

func newTaobaoDecoder(*decode.RecordReader) (decode.RecordDecoder, error) {
	tail := taobaoTail()
	return func(record []string, r *decode.Row) *decode.BadRow {
		return decodeTaobao(record, tail[:len(tail)-1], r)
	}, nil
}

// decodeTaobao decodes a record. Middle names the columns between the sequences and the label.
func decodeTaobao(record, middle []string, r *decode.Row) *decode.BadRow {
	var ok bool
	if r.Labels[0], ok = decode.ParseBinaryLabel(record[len(record)-1]); !ok {
		return decode.BadField("target", record[len(record)-1], "label must be 0 or 1")
	}
	for step, mask := range record[taobaoMask : taobaoMask+taobaoSteps] {
		switch mask {
		case "0":
		case "1":
			for s := range taobaoMask / taobaoSteps {
				r.IDs[s] = append(r.IDs[s], CategoryID(record[s*taobaoSteps+step]))
			}
		default:
			return decode.BadField("mask", mask, "must be 0 or 1")
		}
	}
	slot := len(taobaoSequences())
	for i, name := range middle {
		text := record[taobaoFirst+i]
		if name != "price" {
			r.IDs[slot] = append(r.IDs[slot], CategoryID(text))
			slot++
			continue
		}
		value, reason := decode.ParseNumber(text)
		if reason != "" {
			return decode.BadField(name, text, reason)
		}
		r.Dense[0] = value
	}
	return nil
}

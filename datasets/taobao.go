package datasets

import (
	"slices"

	"tandem/algo/numeric/batch"
)

// taobaoSteps is the length of the behaviour sequences of a Taobao-Ad row.
const taobaoSteps = 50

// The positions of a Taobao-Ad row after its five sequences.
const (
	taobaoMask  = 3 * taobaoSteps // after cont_btag, his_cate and his_brand
	taobaoFirst = 5 * taobaoSteps // after mask and match_mask
)

// taobaoSequences returns the names of the sequences that become slots.
func taobaoSequences() []string { return []string{"cont_btag", "his_cate", "his_brand"} }

// taobaoTail returns the columns behind the sequences. mid is the ad.
func taobaoTail() []string {
	return []string{
		"uid", "cms_segid", "cms_group_id", "final_gender_code", "age_level", "pvalue_level", "shopping_level",
		"occupation", "new_user_class_level", "mid", "cate_id", "campaign_id", "customer", "brand", "price", "pid", "target",
	}
}

// taobaoColumns returns the names of all 267 fields; those of a sequence share
// one.
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

// taobaoTable holds the Taobao display-ad clicks (Ali_Display_Ad_Click, Tianchi
// 56) in the layout of the DMR model: commas, 267 fields, with a header or
// without. Each of three sequences of 50 past events (kind of behaviour,
// category, brand) becomes a slot of as many ids as mask has ones: the other
// steps are padding. An id of 0 that is not masked means unknown and is an id
// like any other. match_mask, which belongs to DMR's auxiliary loss, is left
// out.
//
// Source of the layout: Lyu et al., AAAI 2020; PaddleRec, models/rank/dmr.
func taobaoTable() *table {
	return &table{delimiter: ",", columns: taobaoColumns(), mayRepeat: true, decoder: newTaobaoDecoder}
}

func newTaobaoDecoder(*recordReader) (recordDecoder, error) {
	tail := taobaoTail()
	return func(record []string, r *row) *BadRowError { return decodeTaobao(record, tail[:len(tail)-1], r) }, nil
}

// decodeTaobao decodes a record, given the names of the columns between the
// sequences and the label.
func decodeTaobao(record, middle []string, r *row) *BadRowError {
	var ok bool
	if r.labels[0], ok = binaryLabel(record[len(record)-1]); !ok {
		return badField("target", record[len(record)-1], "label must be 0 or 1")
	}
	for step, mask := range record[taobaoMask : taobaoMask+taobaoSteps] {
		switch mask {
		case "0":
		case "1":
			for s := range taobaoMask / taobaoSteps {
				r.ids[s] = append(r.ids[s], CategoryID(record[s*taobaoSteps+step]))
			}
		default:
			return badField("mask", mask, "must be 0 or 1")
		}
	}
	slot := len(taobaoSequences())
	for i, name := range middle {
		text := record[taobaoFirst+i]
		if name != "price" {
			r.ids[slot] = append(r.ids[slot], CategoryID(text))
			slot++
			continue
		}
		value, reason := parseNumber(text)
		if reason != "" {
			return badField(name, text, reason)
		}
		r.dense[0] = value
	}
	return nil
}

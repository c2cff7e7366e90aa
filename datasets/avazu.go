package datasets

import (
	"slices"
	"time"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
)

// avazuCategories returns the columns of an Avazu file whose texts are ids.
func avazuCategories() []string {
	return []string{
		"C1", "banner_pos", "site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category",
		"device_id", "device_ip", "device_model", "device_type", "device_conn_type",
		"C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21",
	}
}

// The slots of Avazu that are made from the column hour, and the first of the others.
const (
	avazuHour = iota
	avazuWeekday
	avazuFirstCategory
)

func avazuSchema() batch.Schema {
	return newSchema(append([]string{"hour", "weekday"}, avazuCategories()...), nil, "click")
}

// avazuDecoder decodes the click log of the Avazu contest (Kaggle 2014): commas, a header, a
// label of 0 or 1, and categories. The column id, which names the row, is ignored.
//
// The column hour, YYMMDDHH in the original, becomes two slots: the hour of the day (00 to
// 23) and the weekday. The date would be an id that no later row has. If hour has two digits,
// there is no date, and weekday has no ids. All layouts of the file share one schema: some
// published samples lack the column device_ip, and the slot then has no ids.
type avazuDecoder struct {
	label int
	hour  int
	// categories are indexes in a record, −1 for a missing column.
	categories []int
}

func newAvazuDecoder(header *decode.RecordReader) (decode.RecordDecoder, error) {
	var err error
	a := &avazuDecoder{}
	if a.label, err = header.Position("click"); err != nil {
		return nil, err
	}
	if a.hour, err = header.Position("hour"); err != nil {
		return nil, err
	}
	for _, name := range avazuCategories() {
		at := slices.Index(header.Columns, name)
		if at < 0 && name != "device_ip" {
			_, err := header.Position(name)
			return nil, err
		}
		a.categories = append(a.categories, at)
	}
	return a.decode, nil
}

func (a *avazuDecoder) decode(record []string, r *decode.Row) *decode.BadRow {
	var ok bool
	if r.Labels[0], ok = decode.ParseBinaryLabel(record[a.label]); !ok {
		return decode.BadField("click", record[a.label], "label must be 0 or 1")
	}
	hour, layout := record[a.hour], "06010215"
	if len(hour) == len("HH") {
		layout = "15"
	}
	at, err := time.Parse(layout, hour)
	if err != nil {
		return decode.BadField("hour", hour, "must be YYMMDDHH or HH")
	}
	if len(hour) > len("HH") {
		r.IDs[avazuWeekday] = append(r.IDs[avazuWeekday], CategoryID(at.Weekday().String()))
	}
	r.IDs[avazuHour] = append(r.IDs[avazuHour], CategoryID(hour[len(hour)-2:]))
	for i, at := range a.categories {
		if at >= 0 {
			slot := avazuFirstCategory + i
			r.IDs[slot] = append(r.IDs[slot], CategoryID(record[at]))
		}
	}
	return nil
}

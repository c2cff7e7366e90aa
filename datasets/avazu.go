package datasets

import (
	"slices"
	"time"

	"tandem/algo/numeric/batch"
)

// avazuCategories returns the id columns of an Avazu file that are taken as
// they are.
func avazuCategories() []string {
	return []string{
		"C1", "banner_pos", "site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category",
		"device_id", "device_ip", "device_model", "device_type", "device_conn_type",
		"C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21",
	}
}

// The slots of Avazu that come from the column hour.
const (
	avazuHour = iota
	avazuWeekday
	avazuFirstCategory
)

func avazuSchema() batch.Schema {
	return newSchema(append([]string{"hour", "weekday"}, avazuCategories()...), nil, "click")
}

// avazuDecoder decodes the click log of the Avazu contest (Kaggle 2014): commas, a
// header, a label of 0 or 1 and categories only. The column id, which names the
// row, is left out.
//
// The column hour, YYMMDDHH in the original, becomes two slots, as usual:
// the hour of day (00 to 23) and the weekday. The date itself would be an id
// that no later row has. An hour of two digits is one without its date: then
// weekday has no id. Nor has a slot whose column is not in the file, as
// device_ip in some published samples, so that all layouts share one schema.
type avazuDecoder struct {
	label int
	hour  int
	// categories holds positions in the record, −1 for a column that is missing.
	categories []int
}

func newAvazuDecoder(header *recordReader) (recordDecoder, error) {
	var err error
	a := &avazuDecoder{}
	if a.label, err = header.position("click"); err != nil {
		return nil, err
	}
	if a.hour, err = header.position("hour"); err != nil {
		return nil, err
	}
	for _, name := range avazuCategories() {
		at := slices.Index(header.columns, name)
		if at < 0 && name != "device_ip" {
			_, err := header.position(name)
			return nil, err
		}
		a.categories = append(a.categories, at)
	}
	return a.decode, nil
}

func (a *avazuDecoder) decode(record []string, r *row) *BadRowError {
	var ok bool
	if r.labels[0], ok = binaryLabel(record[a.label]); !ok {
		return badField("click", record[a.label], "label must be 0 or 1")
	}
	hour, layout := record[a.hour], "06010215"
	if len(hour) == len("HH") {
		layout = "15"
	}
	at, err := time.Parse(layout, hour)
	if err != nil {
		return badField("hour", hour, "must be YYMMDDHH or HH")
	}
	if len(hour) > len("HH") {
		r.ids[avazuWeekday] = append(r.ids[avazuWeekday], CategoryID(at.Weekday().String()))
	}
	r.ids[avazuHour] = append(r.ids[avazuHour], CategoryID(hour[len(hour)-2:]))
	for i, at := range a.categories {
		if at >= 0 {
			slot := avazuFirstCategory + i
			r.ids[slot] = append(r.ids[slot], CategoryID(record[at]))
		}
	}
	return nil
}

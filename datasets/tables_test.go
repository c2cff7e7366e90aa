package datasets

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// badRow is a row that must be refused, and the expected error.
type badRow struct {
	row, column, value, cause string
}

// checkBadRows checks that each bad row behind a good beginning is an error that names it, and is
// skipped if the policy allows.
func checkBadRows(t *testing.T, cfg job.Data, good string, rows []badRow) {
	t.Helper()
	line := strings.Count(good, "\n") + 1
	whole, _, err := readText(cfg, good, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rows {
		_, _, err := readText(cfg, good+c.row+"\n", 0)
		var bad *BadRowError
		if !errors.As(err, &bad) {
			t.Errorf("%q: error %v, want a bad row", c.row, err)
			continue
		}
		if bad.Line != line || bad.Column != c.column || bad.Value != c.value ||
			!strings.Contains(bad.Reason, c.cause) {
			t.Errorf("%q: %+v, want line %d and %+v", c.row, bad, line, c)
		}
		b, dropped, err := readText(cfg, good+c.row+"\n", 1)
		if err != nil || b.Samples != whole.Samples || dropped != 1 {
			t.Errorf("%q: skipping: error %v, %d dropped", c.row, err, dropped)
		}
	}
}

// slotOf returns the ids of a row in a slot, by name.
func slotOf(t *testing.T, schema batch.Schema, b *batch.Batch, name string, row int) []uint64 {
	t.Helper()
	for s, slot := range schema.Slots {
		if slot.Name == name {
			return b.Slots[s].SampleIDs(row)
		}
	}
	t.Fatalf("no slot %s", name)
	return nil
}

// checkIDs checks that ids are those of the given texts.
func checkIDs(t *testing.T, schema batch.Schema, b *batch.Batch, name string, row int, texts ...string) {
	t.Helper()
	var want []uint64
	for _, text := range texts {
		want = append(want, CategoryID(text))
	}
	if got := slotOf(t, schema, b, name, row); !slices.Equal(got, want) {
		t.Errorf("%s of row %d: %x, want those of %q", name, row, got, texts)
	}
}

const (
	avazuHeader = "id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain," +
		"app_category,device_id,device_ip,device_model,device_type,device_conn_type," +
		"C14,C15,C16,C17,C18,C19,C20,C21\n"
	avazuRow = "10000000000000000001,1,14102821,1005,0,s1,d1,c1," +
		"a1,b1,e1,f1,ip1,m1,1,2,15706,320,50,1722,0,35,-1,79\n"
	avazuShortHeader = "click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain," +
		"app_category,device_id,device_model,device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21\n"
	avazuShortRow = "0,21,1005,0,s1,d1,c1,a1,b1,e1,f1,m1,1,2,15706,320,50,1722,0,35,-1,79\n"
)

// 28 October 2014 was a Tuesday.
func TestAvazuLayoutsAgree(t *testing.T) {
	cfg, schema := job.Data{Kind: job.KindAvazu}, avazuSchema()
	long, _, err := readText(cfg, avazuHeader+avazuRow, 0)
	if err != nil {
		t.Fatal(err)
	}
	short, _, err := readText(cfg, avazuShortHeader+avazuShortRow, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(schema.Slots) != 23 || long.Labels[0] != 1 || short.Labels[0] != 0 {
		t.Errorf("%d slots, labels %v and %v", len(schema.Slots), long.Labels, short.Labels)
	}
	checkIDs(t, schema, long, "weekday", 0, "Tuesday")
	checkIDs(t, schema, long, "device_ip", 0, "ip1")
	checkIDs(t, schema, short, "weekday", 0)
	checkIDs(t, schema, short, "device_ip", 0)
	for _, b := range []*batch.Batch{long, short} {
		checkIDs(t, schema, b, "hour", 0, "21")
		checkIDs(t, schema, b, "C1", 0, "1005")
		checkIDs(t, schema, b, "device_model", 0, "m1")
		checkIDs(t, schema, b, "C21", 0, "79")
	}
}

// The columns of a file may come in any order: here a category is the first.
func TestAvazuColumnsInAnyOrder(t *testing.T) {
	last := func(line string) string {
		fields := strings.Split(strings.TrimSpace(line), ",")
		return strings.Join(append(fields[2:len(fields):len(fields)], fields[:2]...), ",") + "\n"
	}
	cfg := job.Data{Kind: job.KindAvazu}
	want, _, err := readText(cfg, avazuShortHeader+avazuShortRow, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := readText(cfg, last(avazuShortHeader)+last(avazuShortRow), 0)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestAvazuBadRows(t *testing.T) {
	change := func(from, to string) string {
		return strings.Replace(strings.TrimSpace(avazuRow), from, to, 1)
	}
	checkBadRows(t, job.Data{Kind: job.KindAvazu}, avazuHeader+avazuRow, []badRow{
		{"1,0,14102821", "", "", "3 fields, want 24"},
		{change(",1,14102821", ",yes,14102821"), "click", "yes", "label must be 0 or 1"},
		{change("14102821", "14102824"), "hour", "14102824", "YYMMDDHH"},
		{change("14102821", "14132800"), "hour", "14132800", "YYMMDDHH"},
		{change("14102821", "24"), "hour", "24", "or HH"},
		{change("14102821", ""), "hour", "", "YYMMDDHH"},
	})
	for header, want := range map[string]string{
		strings.Replace(avazuHeader, "site_id", "site", 1): `no column "site_id"`,
		strings.Replace(avazuHeader, "hour", "time", 1):    `no column "hour"`,
		strings.Replace(avazuHeader, "click", "y", 1):      `no column "click"`,
	} {
		if _, _, err := readText(job.Data{Kind: job.KindAvazu}, header+avazuRow, 0); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// taobaoRow returns a row with a history of two steps. Changes set fields by index.
func taobaoRow(change map[int]string) string {
	fields := slices.Repeat([]string{"0"}, 250)
	for step := range 2 {
		fields[step], fields[50+step], fields[100+step] = "1", "4"+string(rune('0'+step)), "0"
		fields[150+step], fields[200+step] = "1", "1"
	}
	fields[52] = "99" // padding that is not zero
	fields = append(fields, strings.Split("u1,2,3,1,5,6,7,0,4,ad,cate,camp,cust,brand,0.5,1,1", ",")...)
	for at, text := range change {
		fields[at] = text
	}
	return strings.Join(fields, ",")
}

func TestTaobaoIgnoresMaskedSteps(t *testing.T) {
	cfg, schema := job.Data{Kind: job.KindTaobaoAd}, taobaoSchema()
	if len(schema.Slots) != 18 || len(taobaoColumns()) != 267 {
		t.Fatalf("%d slots of %d columns", len(schema.Slots), len(taobaoColumns()))
	}
	rows := taobaoRow(nil) + "\n" + taobaoRow(map[int]string{150: "0", 151: "0", 266: "0"}) + "\n"
	for name, text := range map[string]string{"plain": rows, "header": strings.Join(taobaoColumns(), ",") +
		"\n" + rows} {
		b, _, err := readText(cfg, text, 0)
		if err != nil || b.Samples != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		checkIDs(t, schema, b, "cont_btag", 0, "1", "1")
		checkIDs(t, schema, b, "his_cate", 0, "40", "41")
		checkIDs(t, schema, b, "his_brand", 0, "0", "0") // unknown, not padding
		checkIDs(t, schema, b, "his_cate", 1)
		checkIDs(t, schema, b, "uid", 0, "u1")
		checkIDs(t, schema, b, "mid", 0, "ad")
		checkIDs(t, schema, b, "brand", 0, "brand")
		checkIDs(t, schema, b, "pid", 0, "1")
		if !slices.Equal(b.Dense, []float32{0.5, 0.5}) || !slices.Equal(b.Labels, []float32{1, 0}) {
			t.Errorf("%s: prices %v, labels %v", name, b.Dense, b.Labels)
		}
	}
}

func TestTaobaoBadRows(t *testing.T) {
	checkBadRows(t, job.Data{Kind: job.KindTaobaoAd}, taobaoRow(nil)+"\n", []badRow{
		{"1,2,3", "", "", "3 fields, want 267"},
		{taobaoRow(map[int]string{160: "2"}), "mask", "2", "must be 0 or 1"},
		{taobaoRow(map[int]string{264: "dear"}), "price", "dear", "not a number"},
		{taobaoRow(map[int]string{266: ""}), "target", "", "label must be 0 or 1"},
		{strings.Join(taobaoColumns(), ","), "target", "target", "label must"}, // a second header
	})
}

func TestIJCAI18(t *testing.T) {
	header := "Label,I1,I2,I3,I4,I5,I6,I7,I8,I9,I10,I11,I12,I13,C1,C2,C3,C4,C5,C6,C7,C8\n"
	row := "1,3,3,4,14,2,6,1,4,0.99,3,1,1,0.5,i,c,b,y,u,g,o,s\n"
	cfg, schema := job.Data{Kind: job.KindIJCAI18}, ijcai18Schema()
	b, _, err := readText(cfg, header+row, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Dense) != len(schema.Dense) || b.Dense[0] != 3 || b.Dense[12] != 0.5 || b.Labels[0] != 1 {
		t.Errorf("numbers %v, label %v", b.Dense, b.Labels)
	}
	checkIDs(t, schema, b, "item_id", 0, "i")
	checkIDs(t, schema, b, "user_id", 0, "u")
	checkIDs(t, schema, b, "shop_id", 0, "s")
	checkBadRows(t, cfg, header+row, []badRow{
		{strings.Replace(row[:len(row)-1], "0.99", "", 1), "I9", "", "not a number"},
		{"2" + row[1:len(row)-1], "Label", "2", "label must be one of"},
	})
}

// Rows, rates, ids and shares come from the descriptions of the data sets, or were counted with
// another program.
func TestRealTables(t *testing.T) {
	for _, c := range []struct {
		kind     job.DataKind
		file     string
		rows     int
		positive float64
		distinct map[string]int
	}{
		{job.KindAvazu, "avazu/avazu_union.csv.gz", 14077, 0.1731,
			map[string]int{"hour": 4, "weekday": 3, "site_id": 550, "device_ip": 10618, "C14": 500}},
		{job.KindAvazu, "avazu/avazu_random15k.csv", 15000, 0.1706,
			map[string]int{"hour": 24, "weekday": 0, "device_ip": 0, "device_id": 2591, "C21": 59}},
		{job.KindTaobaoAd, "taobao-ad-sample/dmr_sample500.csv", 500, 0.42,
			map[string]int{"uid": 230, "his_cate": 910, "his_brand": 3333, "mid": 297, "pid": 2}},
		{job.KindTaobaoAd, "taobao-ad-sample/dmr_sample_deepctr.csv", 99, 2. / 99, nil},
		{job.KindIJCAI18, "alimama-ijcai18/ijcai18_union.csv.gz", 53227, 0.0204,
			map[string]int{"item_id": 4895, "user_id": 40781, "shop_id": 2422}},
		{job.KindMovieLens, "movielens-100k/u.data", 100_000, 0.5537,
			map[string]int{"user": 943, "item": 1682, "age": 61, "gender": 2, "occupation": 21, "zip": 795,
				"genres": 19}},
		{job.KindMovieLensImplicit, "movielens-1m-implicit/train.csv.gz", 994_169, 1,
			map[string]int{"user": 6040, "item": 3704, "genre": 18}},
	} {
		rows, err := ReadRows(job.Data{Kind: c.kind}, dataDir(t)+"/"+c.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := positiveRate(rows.Batch); rows.Batch.Samples != c.rows || math.Abs(got-c.positive) > 6e-5 {
			t.Errorf("%s: %d rows, positive rate %v", c.file, rows.Batch.Samples, got)
		}
		for s, slot := range rows.Schema.Slots {
			if want, ok := c.distinct[slot.Name]; ok && distinct(rows.Batch, s) != want {
				t.Errorf("%s: %s has %d ids, want %d", c.file, slot.Name, distinct(rows.Batch, s), want)
			}
		}
	}
}

package infer

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/datasets"
)

// odd returns a table of 200 rows with a number and a label, whose lines are changed.
func odd(change func(line string, i int) string) string {
	var text strings.Builder
	text.WriteString(change("user,price,y", 0) + "\n")
	for i := range 200 {
		text.WriteString(change(fmt.Sprintf("u%d,%d.5,%s", i%9, i%50, clicked(i)), i+1) + "\n")
	}
	return text.String()
}

// price returns the change of the price in a row.
func price(text func(i int) string) func(string, int) string {
	return func(line string, i int) string {
		fields := strings.Split(line, ",")
		if i > 0 {
			fields[1] = text(i - 1)
		}
		return strings.Join(fields, ",")
	}
}

// Tables that people have are read as what they are meant to be: a user that is an id, a price that is a
// number, and a label.
func TestOddTablesAreRead(t *testing.T) {
	as := func(form string) string {
		return odd(price(func(i int) string { return fmt.Sprintf(form, i%50) }))
	}
	some := func(missing string) string {
		return odd(price(func(i int) string {
			if i%7 == 3 {
				return missing
			}
			return fmt.Sprintf("%d.5", i%50)
		}))
	}
	plain := odd(func(line string, _ int) string { return line })
	for name, text := range map[string]string{
		"percent":      as("%d.5%%"),
		"dollars":      as("$%d.5"),
		"euros":        strings.ReplaceAll(as("%d.5 €"), ",", ";"),
		"brackets":     as("($%d.5)"),
		"nil":          some("nil"),
		"spreadsheet":  some("#N/A"),
		"a dot":        some("."),
		"infinity":     some("inf"),
		"comments":     "# exported, by a tool\n#\n" + plain,
		"hint":         "sep=,\n" + plain,
		"blanks":       strings.ReplaceAll(plain, ",", " "),
		"joined files": plain + plain,
		"hash":         "#" + plain,
		"empty lines":  strings.ReplaceAll(plain, "\n", "\n\n"),
		"JSON lines": odd(func(line string, i int) string {
			fields := strings.Split(line, ",")
			if i == 0 {
				return ""
			}
			return fmt.Sprintf(`{"user":"%s","price":%s,"y":%s}`, fields[0], fields[1], fields[2])
		}),
		"no name": odd(func(line string, i int) string {
			return strings.Repeat(fmt.Sprint(i*7%200), min(i, 1)) + "," + line
		}),
		"delimiter at ends": odd(func(line string, _ int) string { return line + "," }),
		"mixed line ends":   odd(func(line string, i int) string { return line + []string{"", "\r"}[i%2] }),
		"quoted line ends": odd(func(line string, i int) string {
			return line + []string{",note", ",\"a\n\"\"b\"\"\""}[min(i, 1)]
		}),
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, text)
			got, err := CSV(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			uses := uses(got)
			if user := cmp.Or(uses["user"], uses["#user"]); user != ID || uses["price"] != Number {
				t.Fatalf("%+v", got.Columns)
			}
			got.Data.OnBadRow.Skip = 1 // the header of the second file
			read, err := datasets.ReadRows(got.Data, path)
			if err != nil {
				t.Fatal(err)
			}
			if n := read.Batch.Samples; n%200 != 0 || read.DroppedRows != n/200-1 {
				t.Errorf("%d rows, %d dropped", n, read.DroppedRows)
			}
			if x := read.Batch.Dense[12]; x != 12.5 && x != -12.5 {
				t.Errorf("the price of row 12 is %v", x)
			}
		})
	}
}

// Lists and objects of JSON lines are known, also where no values say so.
func TestListsOfJSONLines(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		const row = `{"user":[%d,%d],"one":["%d"],"made":{"by":"us"},"price":%d.5,"y":%s}` + "\n"
		fmt.Fprintf(&text, row, i%9, i%7, i%5, i%50, clicked(i))
	}
	got, err := CSV(file(t, text.String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"lists of ids", "lists of ids", "objects of JSON",
		"numbers with fractions"} {
		if c := got.Columns[i]; c.Why != want || (c.Separator == "|") != (i < 2) {
			t.Errorf("%+v, want %s", c, want)
		}
	}
	read, err := datasets.ReadRows(got.Data, file(t, text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(read.Batch.Slots[0].SampleIDs(3)); n != 2 {
		t.Errorf("%d ids in a row, want 2", n)
	}
}

// Lists of numbers are no ids, and a weight behind every id is none of its text; times are no weights.
func TestListsWithWeights(t *testing.T) {
	var table, lines strings.Builder
	table.WriteString("tags,likes,both,at,y\n")
	for i := range 200 {
		a, b := float64(i%4)/4, i%3
		fmt.Fprintf(&table, "t%d:%g|t%d:%d,%g|%d,u:%d|v,10:%d:0%d.5|9:04:05.5,%s\n", i%9, a, i%7, b, a, b, b,
			10+i%50, b, clicked(i))
		const line = `{"tags":["t%d:%g","t%d:%d"],"likes":[%g,%d],"both":["u:%d","v"],"y":%s}` + "\n"
		fmt.Fprintf(&lines, line, i%9, a, i%7, b, a, b, b, clicked(i))
	}
	for _, text := range []string{table.String(), lines.String()} {
		got, err := CSV(file(t, text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"lists of ids with weights", "lists of numbers, not of ids",
			"lists of"} {
			c := got.Columns[i]
			if !strings.HasPrefix(c.Why, want) || (c.WeightSeparator == ":") != (i == 0) ||
				(c.Use == Ignored) != (i == 1) {
				t.Errorf("%+v, want %s", c, want)
			}
		}
		if at := got.Columns[3]; at.WeightSeparator != "" {
			t.Errorf("%+v", at)
		}
		read, err := datasets.ReadRows(got.Data, file(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if tags := read.Batch.Slots[0]; tags.IDs[2] != datasets.CategoryID("t1") || tags.Weights[2] != 0.25 {
			t.Errorf("%x with weight %v", tags.IDs[2], tags.Weights[2])
		}
	}
}

// The reason says what is odd about a column that is used.
func TestSignsAreRemarked(t *testing.T) {
	got, err := CSV(file(t, odd(price(func(i int) string { return fmt.Sprintf("%d %%", i%50) }))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	user, price := got.Columns[0].Remark(), got.Columns[1].Remark()
	if user != "" || price != "numbers with %, $ or ()" {
		t.Errorf("remarks %q, %q", user, price)
	}
}

// Times of which most are different are named for what they are.
func TestTimesAreNamed(t *testing.T) {
	for form, want := range map[string]string{"2006-01-02 15:04:05": "times", "02.01.2006 15:04": "times",
		"2006/01/02 15:04": "times", "Mon 15:04 2006-01-02": "100 % of values are different"} {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		got, err := CSV(file(t, odd(price(func(i int) string {
			return at.Add(time.Duration(i*7919) * time.Minute).Format(form)
		}))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Columns[1]; c.Use != Ignored || c.Why != want {
			t.Errorf("%s: taken for %s, because %s", form, c.Use, c.Why)
		}
	}
}

// Files that are no tables, or lack a part of one, are refused with the reason.
func TestOddTablesAreNamed(t *testing.T) {
	plain := odd(func(line string, _ int) string { return line })
	_, rows, _ := strings.Cut(plain, "\n")
	for _, c := range []struct{ text, want string }{
		{strings.ReplaceAll(plain, "\n", "\r"),
			"its lines end in carriage returns alone: convert it, as with tr"},
		{rows, "its first line looks like a row, with the number 0.5: add a line with the names"},
		{strings.ReplaceAll(plain, ",", "  "),
			"its first line has no comma, tab, semicolon or bar between columns"},
		{"Clicks of March\n\n" + plain, `same number of single blanks: "Clicks of March"`},
		{"<!DOCTYPE html>\n<p>a,b\n", "a page of the web, or XML"},
		{strings.Replace(plain, "price,", "", 1),
			"no row has the fields of the header: line 2: 3 fields, want 2"},
		{"user,price,y\n", "no rows below its header"},
		{strings.Replace(plain, "user", "price", 1), `two columns are called "price": rename one`},
	} {
		_, err := CSV(file(t, c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || Hint(err) != "" {
			t.Errorf("%.30q: error %v, want %q; hint %q", c.text, err, c.want, Hint(err))
		}
	}
}

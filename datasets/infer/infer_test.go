package infer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
)

// table writes a file of 200 rows. A column is a function of the number of the row.
func table(t *testing.T, columns map[string]func(i int) string) string {
	t.Helper()
	var names []string
	var text strings.Builder
	for name := range columns {
		names = append(names, name)
	}
	text.WriteString(strings.Join(names, ",") + "\n")
	for i := range 200 {
		var fields []string
		for _, name := range names {
			fields = append(fields, columns[name](i))
		}
		text.WriteString(strings.Join(fields, ",") + "\n")
	}
	return file(t, text.String())
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// clicked is 1 in every fourth row.
func clicked(i int) string { return fmt.Sprint(1 - min(i%4, 1)) }

func TestUseOfColumns(t *testing.T) {
	columns := map[string]struct {
		field func(i int) string
		use   Use
	}{
		"constant":   {func(int) string { return "x" }, Ignored},
		"afterwards": {func(i int) string { return strings.Repeat("t", 1-min(i%4, 1)) }, Ignored},
		"half empty": {func(i int) string { return strings.Repeat("t", i%2) }, ID},
		// Half of its values are at rows with label 0: nothing that only a positive row has.
		"some clicks": {func(i int) string { return strings.Repeat("t", 1-min(i%8, 1)) }, ID},
		"and others":  {func(i int) string { return strings.Repeat("t", 1-min(i%2, 1)) }, ID},
		"price":       {func(i int) string { return fmt.Sprint(float64(i%17) + 0.5) }, Number},
		"some prices": {func(i int) string {
			return strings.TrimSuffix(fmt.Sprint(float64(i%17)+0.5),
				"16.5")
		}, Number},
		"other prices": {func(i int) string { return []string{"NA", `\N`, "3.5", "-1.5"}[i%4] }, Number},
		"sizes":        {func(i int) string { return []string{"NA", "s", "m"}[i%3] }, ID},
		"all missing":  {func(i int) string { return []string{"NA", "?"}[i%2] }, ID},
		"row":          {func(i int) string { return fmt.Sprint(1000 + i) }, Ignored},
		"weight":       {func(i int) string { return fmt.Sprint(i * 7919 % 10_007) }, Number},
		"age":          {func(i int) string { return fmt.Sprint(i % 40) }, ID},
		"user":         {func(i int) string { return fmt.Sprintf("u%d", i%90) }, ID},
		"session":      {func(i int) string { return fmt.Sprintf("s%d", i) }, Ignored},
		"tags":         {func(i int) string { return fmt.Sprintf("a%d|b%d", i%3, i%5) }, ID},
		"some numbers": {func(i int) string { return []string{"7", "seven"}[i%2] }, ID},
	}
	written := map[string]func(int) string{"Click": clicked}
	for name, c := range columns {
		written[name] = c.field
	}
	got, err := CSV(table(t, written), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Columns {
		want := columns[c.Name].use
		if c.Name == "Click" {
			want = Label
		}
		if c.Use != want {
			t.Errorf("%s is taken for %s, because %s; want %s", c.Name, c.Use, c.Why, want)
		}
		if (c.Separator == "|") != (c.Name == "tags") {
			t.Errorf("%s: separator %q", c.Name, c.Separator)
		}
	}
	if got.Rows != 200 || got.LabelMean != 0.25 {
		t.Errorf("%d rows, positive rate %v", got.Rows, got.LabelMean)
	}
	missing := slices.Sorted(slices.Values(got.Data.CSV.Missing))
	if want := []string{"", "NA", `\N`}; !slices.Equal(missing, want) {
		t.Errorf("missing numbers are %q, want %q", missing, want)
	}
	if err := got.Data.CSV.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := datasets.ReadRows(got.Data, table(t, written)); err != nil {
		t.Errorf("what was inferred cannot be read: %v", err)
	}
}

// A column without a name, as pandas writes for the index, is left out.
func TestColumnWithoutName(t *testing.T) {
	path := file(t, ",user,y\n0,a,1\n1,b,0\n2,a,1\n3,b,0\n")
	got, err := CSV(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Columns[0]; c.Name != "column 1" || c.Use != Ignored || len(got.Data.CSV.Slots) != 1 {
		t.Errorf("%+v, %+v", c, got.Data.CSV)
	}
	if rows, err := datasets.ReadRows(got.Data, path); err != nil || rows.Batch.Samples != 4 {
		t.Errorf("%v, error %v", rows, err)
	}
}

// The hint is about what is wrong.
func TestHint(t *testing.T) {
	for text, want := range map[string]string{
		"user,item\n1,2\n":               "--label names",
		"user,y\n1,1\n2,0\n1,1\n3,0,1\n": "--on-bad-row skip:100",
		`[{"user": 1}]`:                  "",
		"":                               "",
	} {
		_, _, _, err := Open(Request{File: file(t, text), Split: job.Split{How: job.SplitLast, Test: 0.5},
			OnBadRow: job.OnBadRow{}})
		hint := Hint(err)
		if err == nil || !strings.HasPrefix(hint, want) || (hint == "") != (want == "") {
			t.Errorf("%q: error %v with hint %q, want %q", text, err, hint, want)
		}
	}
}

// What the user says holds.
func TestOptions(t *testing.T) {
	path := table(t, map[string]func(int) string{"y": clicked,
		"user":   func(i int) string { return fmt.Sprint(i % 9) },
		"bought": func(i int) string { return []string{"no", "yes"}[i%2] }})
	got, err := CSV(path, Options{Label: "bought", IDs: []string{"y"}, Ignore: []string{"user"}})
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Data.CSV
	if spec.Label != "bought" || spec.Positive[0] != "yes" || len(spec.Slots) != 1 ||
		spec.Slots[0].Column != "y" {
		t.Errorf("%+v", spec)
	}
	if got, err = CSV(path, Options{IDs: []string{"bought"}, Numbers: []string{"user"}}); err != nil ||
		len(got.Data.CSV.Numeric) != 1 {
		t.Errorf("%+v, error %v", got, err)
	}
}

// Every error is one line that names the column and what to do.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text, want string
		o          Options
	}{
		{"user,item\n1,2\n", "no column is called label, click, clicked, target or y: name the " +
			"label column; the first line has user, item", Options{}},
		{"user,item\n1,2\n", `column "itm" is unknown; the nearest is "item"`, Options{Label: "itm"}},
		{"user,y\n1,1\n2,1\n", `label "y" is "1" in all 2 rows`, Options{}},
		{"user,y\n1,1\n2,\n", `label "y" is missing, "", in some rows`, Options{}},
		{"user,y\n1,a\n2,b\n3,c\n", `label "y" has more than two values`, Options{}},
		{"user,y\n1,4\n2,5\n3,3\n", `label "y" has 3 values, from 3 to 5: say which are positive, as with ` +
			"--positive '>=4'", Options{}},
		{"user,y\n1,4\n2,5\n3,3\n", `label "y" has values such as ["4" "5" "3"], which are all negative`,
			Options{Positive: ">5"}},
		{"user,y\n1,4\n2,5\n3,3\n", `--positive: label "y" is "6" in no row that was read; it has values ` +
			`such as ["4" "5" "3"]`, Options{Positive: "4, 6"}},
		{"user,y\n1,4\n2,5\n3,3\n", `label "y" is "=>4" in no row`, Options{Positive: "=>4"}},
		{"user,y\n1,4\n2,no\n3,3\n", `label "y" is "no" in some rows, which is no number`,
			Options{Positive: ">=4"}},
		{"user,y\n1,4\n2,5\n", `--positive: ">=high": want texts, as in yes,maybe, or a comparison`,
			Options{Positive: ">=high"}},
		{"user,y\n", "below its header", Options{}},
		{"user,user,y\n1,2,1\n", `two columns are called "user"`, Options{}},
		{"user\n1\n", "has no comma, tab, semicolon or bar", Options{}},
		{"price,y\n1,1\n1,0\n", "no column looks like ids or numbers", Options{}},
		{"user,y\n1,1\n2,0\n", `column "y" is the label`, Options{Ignore: []string{"y"}}},
		{"user,y\n1,1\n2,0\n", `column "usr" is unknown`, Options{Numbers: []string{"usr"}}},
	} {
		_, err := CSV(file(t, c.text), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want %q", c.text, err, c.want)
		}
	}
	long := strings.Repeat("9", 100_000)
	for text, positive := range map[string]string{
		"user,y\n1,a" + long + "\n2,b\n3,c\n": "", "user,y\n1," + long + "\n": "",
		"user,y\n1,b\n2,a" + long + "\n": ">4", "user,y\n1,4\n2,5\n": ">=" + long,
		"user,y\n1,6\n2,5\n": long, "user,y\n1,5\n2," + long + "\n": "5," + long + "0",
	} {
		if _, err := CSV(file(t, text), Options{Positive: positive}); err == nil || len(err.Error()) > 500 {
			t.Errorf("a long label or rule: %.200v; want a short error", err)
		}
	}
	if _, err := CSV(filepath.Join(t.TempDir(), "none.csv"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: error %v", err)
	}
	if _, err := CSV(file(t, ""), Options{}); !errors.Is(err, datasets.ErrNoRows) {
		t.Errorf("an empty file: error %v", err)
	}
}

// A label with words, and rows of a wrong length.
func TestLabelOfWords(t *testing.T) {
	path := file(t, "user,y\na,bad\nb,good\nc,good\nd\ne,good\n")
	got, err := CSV(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if spec := got.Data.CSV; spec.Positive[0] != "bad" || got.LabelMean != 0.25 || got.Rows != 4 {
		t.Errorf("%+v, positive rate %v of %d rows", spec, got.LabelMean, got.Rows)
	}
}

// A rule makes two classes of a label with more values.
func TestPositiveRule(t *testing.T) {
	columns := map[string]func(i int) string{
		"user":   func(i int) string { return fmt.Sprint(i % 9) },
		"rating": func(i int) string { return []string{"1", "2", "3", "4", "4.5"}[i%5] },
		// Filled for ratings of 4 and more, and only for these.
		"reward": func(i int) string { return strings.Repeat("x", i%5/3) },
	}
	path := table(t, columns)
	for rule, rate := range map[string]float64{">=4": 0.4, "> 4": 0.2, "<=2": 0.4, "<2": 0.2, "3,4.5": 0.4} {
		got, err := CSV(path, Options{Label: "rating", Positive: rule})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := datasets.ReadRows(got.Data, path)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, label := range rows.Batch.Labels {
			sum += float64(label)
		}
		if got.LabelMean != rate || sum != 200*rate {
			t.Errorf("%s: a share of %v is positive, and %v rows; want %v", rule, got.LabelMean, sum, rate)
		}
		if use := uses(got)["reward"]; (use == Ignored) != (rule == ">=4") {
			t.Errorf("%s: reward is taken for %s", rule, use)
		}
	}
}

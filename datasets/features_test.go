package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// The share of a file that has been read rises to 1 while its rows are read ahead, and every row comes.
func TestReadFeaturesSaysHowFarItIs(t *testing.T) {
	const all = 200_000
	var text strings.Builder
	text.WriteString("user\n")
	for i := range all {
		fmt.Fprintf(&text, "u%d\n", i)
	}
	path := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	data := job.Data{Kind: job.KindCSV, CSV: &job.Table{Slots: []job.IDColumn{{Column: "user"}}}}
	rows, calls, last := 0, 0, 0.0
	err := ReadFeatures(data, nil, path, func(b *batch.Batch, share float64) error {
		if share < last || share > 1 {
			t.Errorf("share %v after %v", share, last)
		}
		rows, calls, last = rows+b.Samples, calls+1, share
		return nil
	})
	if err != nil || rows != all || calls < 4 || last != 1 {
		t.Errorf("%d rows in %d calls, share %v, error %v", rows, calls, last, err)
	}
}

// Rows to predict need neither labels nor weights of rows, and none is left out for a bad
// weight.
func TestFeaturesNeedNoWeightsOfRows(t *testing.T) {
	table := &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}, Label: "click",
		Weight: "w", Impressions: "n"}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plain.csv": "user,price\na,1\nb,2\n", "bad.csv": "user,price,w,n,click\na,1,-5,x,y\nb,2,,,\n",
	} {
		write(t, dir, name, text)
		data := job.Data{Kind: job.KindCSV, CSV: table}
		rows := 0
		err := ReadFeatures(data, []batch.Scaling{{Std: 1}}, filepath.Join(dir, name),
			func(b *batch.Batch, _ float64) error {
				rows += b.Samples
				return nil
			})
		if err != nil || rows != 2 {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
	}
}

package cache

import (
	"flag"
	"strings"
	"testing"

	"tandem/internal/damage"
)

var long = flag.Bool("long", false, "damage 500 files")

// Of a damaged cache, or of that of another source, no rows are loaded but those that were stored.
func TestDamagedCachesAreNotBelieved(t *testing.T) {
	cases, harmless := 25, 0
	if *long {
		cases = 500
	}
	var folders []string
	keys, want := []Key{sourceKey(t, "one"), sourceKey(t, "another")}, []*Rows{someRows(700), someRows(900)}
	for _, rows := range []int{0, 50} { // the same sources, and other rows
		folder := Folder(t.TempDir())
		for i, key := range keys {
			if rows > 0 {
				key.Sources = []Source{{Path: key.Sources[0].Path, Size: 7}}
				want[i] = someRows(rows)
			}
			if err := folder.Store(key, want[i]); err != nil {
				t.Fatal(err)
			}
		}
		folders = append(folders, string(folder))
	}
	want = []*Rows{someRows(700), someRows(900)}
	damage.Each(t, cases, folders[0], folders[1], func(what, name string) {
		refused := false
		for i, key := range keys {
			rows, err := Folder(folders[0]).Load(key)
			if err == nil {
				sameRows(t, rows, want[i])
				continue
			}
			if refused = true; !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v", what, err)
			}
		}
		if !refused {
			harmless++
		}
	})
	t.Logf("of %d damages %d have no effect", cases, harmless)
}

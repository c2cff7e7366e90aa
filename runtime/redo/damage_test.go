package redo_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/internal/damage"
	"tandem/runtime/redo"
	"tandem/runtime/wire"
)

var long = flag.Bool("long", false, "damage 500 files")

// A damaged log, or that of another role or run, is refused, or has all inputs that were kept.
func TestDamagedLogsAreNotBelieved(t *testing.T) {
	cases, harmless := 25, 0
	if *long {
		cases = 500
	}
	write := func(folder string, run wire.RunID, roles int) (all []kept) {
		for i := range 100 {
			for _, k := range inputs() {
				k.now += unit.Tick(i)
				all = append(all, k)
			}
		}
		for i := range roles {
			log, err := redo.Create(filepath.Join(folder, fmt.Sprintf("%d.redo", i)), run,
				msg.Address{Role: msg.EmbeddingPS, Index: int32(i)})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range all {
				if err := log.Keep(k.now, &k.in, k.payload); err != nil {
					t.Fatal(err)
				}
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	folder, other := t.TempDir(), t.TempDir()
	want := write(folder, run, 2)
	write(other, wire.RunID{4}, 2)
	damage.Each(t, cases, folder, other, func(what, name string) {
		refused := false
		for i := range 2 {
			got, err := replayedBy(filepath.Join(folder, fmt.Sprintf("%d.redo", i)),
				msg.Address{Role: msg.EmbeddingPS, Index: int32(i)}, nil)
			if err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d inputs, others than the %d that were kept", what, len(got), len(want))
			}
			if err != nil && (!strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: error %v", what, err)
			}
			refused = refused || err != nil
		}
		if !refused {
			harmless++
		}
	})
	t.Logf("of %d damages %d have no effect", cases, harmless)
}

package role

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// progress has the same steps as a plain set, and the form that its comment describes.
func TestProgressIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p progress
		set := map[int32]bool{}
		const most = 40
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				step := rapid.Int32Range(0, most-1).Draw(t, "step")
				p.add(step)
				set[step] = true
			},
			"raise": func(t *rapid.T) {
				floor := rapid.Int32Range(0, most/4).Draw(t, "floor")
				p.raise(floor)
				for step := range floor {
					set[step] = true
				}
			},
			"": func(t *rapid.T) {
				for step := range int32(most) {
					if p.has(step) != set[step] {
						t.Fatalf("has(%d) = %t, want %t in %+v", step, !set[step], set[step], p)
					}
				}
				if !slices.IsSorted(p.done) || (len(p.done) > 0 && p.done[0] <= p.floor) || set[p.floor] {
					t.Fatalf("%+v: want done sorted and above floor, and floor unfinished", p)
				}
			},
		})
	})
}

// The same steps in different orders give the same form, so that the search sees one state.
func TestProgressFormIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOf(rapid.Int32Range(0, 20)).Draw(t, "steps")
		var a, b progress
		for _, s := range steps {
			a.add(s)
		}
		for _, s := range rapid.Permutation(steps).Draw(t, "order") {
			b.add(s)
		}
		if x, y := a.appendState(nil), b.appendState(nil); !slices.Equal(x, y) {
			t.Fatalf("%+v and %+v: forms %v and %v", a, b, x, y)
		}
	})
}

func TestProgressCloneSharesNothing(t *testing.T) {
	p := progress{}
	p.add(3)
	p.add(5)
	c := p.clone()
	c.add(4)
	c.raise(3)
	if want := []int32{3, 5}; p.floor != 0 || !slices.Equal(p.done, want) {
		t.Errorf("the original became %+v; want floor 0, done %v", p, want)
	}
}

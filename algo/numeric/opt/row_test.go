package opt

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/rng"
)

// The kernels of every set of instructions leave the bits of the portable form,
// for any length, wherever the row lies, and for values of any size.
func TestRowKernelsAreTheirPortableForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 70), rapid.SampledFrom([]int{128, 300})).Draw(t, "dim")
		skip := rapid.IntRange(0, 15).Draw(t, "misalignment")
		scale := rapid.SampledFrom([]float32{1e-30, 1e-3, 1, 1e20}).Draw(t, "scale of the gradient")
		bad := rapid.SampledFrom([]float32{0, 0, 0, float32(math.NaN()), float32(math.Inf(1)),
			float32(math.Inf(-1))}).Draw(t, "one value")
		at, key := rapid.IntRange(0, 300).Draw(t, "place of that"), rapid.Uint64().Draw(t, "key")
		bound := rapid.SampledFrom([]float64{0, 0.5, 10}).Draw(t, "bound")
		for _, spec := range rowSpecs() {
			spec.WeightBound = bound
			var want string
			for _, set := range isa.Sets() {
				o := newRow(spec, set)
				all := make([]float32, 3*skip+2*dim+o.StateSize(dim))
				e, grad, state := all[skip:][:dim], all[2*skip+dim:][:dim], all[3*skip+2*dim:]
				o.Init(state)
				for i := range e {
					e[i], grad[i] = rng.Unit(key, i)-0.5, scale*(rng.Unit(key+1, i)-0.5)
				}
				if at < dim {
					grad[at] += bad
				}
				ok := true
				for range 2 {
					ok = o.Apply(e, state, grad, 0.1) && ok
				}
				if finite := bad == 0 || at >= dim; ok != finite {
					t.Fatalf("%s %s, %v: applied %t, a finite gradient %t", spec.Kind, spec.Order, set, ok,
						finite)
				}
				got := fmt.Sprint(bitsOf(all))
				if set == isa.Portable {
					want = got
				} else if got != want {
					t.Fatalf("%s %s, %v: %s\nportable Go: %s", spec.Kind, spec.Order, set, got, want)
				}
			}
		}
	})
}

func bitsOf(values []float32) (bits []uint32) {
	for _, v := range values {
		bits = append(bits, math.Float32bits(v))
	}
	return bits
}

// A row that holds a NaN keeps it, under every set of instructions: the bound
// hides nothing.
func TestNaNOutlivesTheBound(t *testing.T) {
	for _, spec := range rowSpecs() {
		for _, set := range isa.Sets() {
			o := newRow(spec, set)
			e, state := slices.Repeat([]float32{float32(math.NaN())}, 35), make([]float32, o.StateSize(35))
			o.Init(state)
			o.Apply(e, state, slices.Repeat([]float32{0.25}, 35), 0.1)
			if i := slices.IndexFunc(e, func(v float32) bool { return v == v }); i >= 0 {
				t.Errorf("%s %s, %v: value %d is %v, want NaN", spec.Kind, spec.Order, set, i, e[i])
			}
		}
	}
}

// Effective keeps what changes the values of a row, and drops the rest: specs whose Effective is the same
// update rows alike, and each field that the kind uses makes another.
func TestEffectiveSettings(t *testing.T) {
	uses := map[string][]string{SGD: {"Rate"}, Adagrad: {"Rate", "Order", "Epsilon", "InitialAccumulator"},
		RowwiseAdagrad: {"Rate", "Order", "Epsilon", "InitialAccumulator"},
		Adam:           {"Rate", "Epsilon", "Beta1", "Beta2"}, FTRL: {"Rate", "Beta", "L1", "L2"}}
	for kind, used := range uses {
		base := DefaultRow()
		base.Kind = kind
		for i := range reflect.TypeFor[RowSpec]().NumField() {
			name := reflect.TypeFor[RowSpec]().Field(i).Name
			other := base
			switch field := reflect.ValueOf(&other).Elem().Field(i); name {
			case "Kind":
				continue
			case "Order":
				other.Order = After
			case "Schedule":
				other.Schedule.WarmUp = 5
			default:
				field.SetFloat(field.Float() + 0.03)
			}
			want := slices.Contains(used, name) || name == "WeightBound" || name == "Schedule"
			if got := base.Effective() != other.Effective(); got != want {
				t.Errorf("%s: another %s is another effect: %v, want %v", kind, name, got, want)
			}
		}
	}
	unbounded, negative := DefaultRow(), DefaultRow()
	unbounded.WeightBound, negative.WeightBound = 0, -3
	if negative.Schedule.Steps = 7; unbounded.Effective() != negative.Effective() {
		t.Error("a negative bound, or the steps of no schedule, have an effect")
	}
}

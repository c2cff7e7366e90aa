package job

import (
	"fmt"
	"reflect"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
)

// SlotSetting decides how the ids of one slot become embedding rows and model input.
type SlotSetting struct {
	Slot string `yaml:"slot"` // its name
	// Group names the feature group of the slot: the slots of a group share rows, so an
	// id has the same rows in all of them. Empty: the slot has rows of its own.
	Group string `yaml:"group,omitempty"`
	// Dim is the length of the slot's rows, up to 65,536, the same for all slots of a group; 0 means that of
	// the model. Only feed-forward and dcn-v2 support slots that differ.
	Dim int `yaml:"dim,omitempty"`
	// Optimizer is that of the slot's rows, the same for all slots of a group. What it leaves out is as in
	// the optimizer of section rows, as is all of it where it is absent.
	Optimizer *opt.RowSpec `yaml:"optimizer,omitempty"`
	// Init is the bound of the initial values of the slot's rows, the same for all slots of a group; absent:
	// that of section rows.
	Init *float64 `yaml:"init,omitempty"`
	// Precision is the form of the values of the slot's rows, fp32, bf16 or fp16, the same for all slots of a
	// group; absent: that of section rows.
	Precision string `yaml:"precision,omitempty"`
	// Expiry is the number of global steps without a read after which rows of the slot go,
	// and 0 for rows that stay, the same for all slots of a group; absent: that of section rows.
	Expiry *int `yaml:"expiry,omitempty"`
	// AdmissionCount is the number of steps that read an id of the slot until the last of them
	// gives it a row, the same for all slots of a group; absent: that of section rows.
	AdmissionCount *int `yaml:"admission-count,omitempty"`
	// Placement is where the slot's rows are, RowsOnPSs or RowsOnGPU, the same for all slots of a group;
	// absent: that of section rows.
	Placement string `yaml:"placement,omitempty"`
	// HashStack makes the embedding of an id the sum of one row from each of several
	// rounds, in a table of a fixed size; all slots of a group have the same.
	HashStack batch.HashStack `yaml:"hash-stack,omitempty"`
	// Pooling is what the rows of the ids of a sample become: PoolSum, PoolMean, PoolSqrt, which is their sum
	// divided by the root of their number, or PoolMax, their largest value at each place, whose gradient goes
	// to the first id that has it. With Raw, it is of the rows of one id under a hash-stack. PoolMax goes
	// with neither Raw nor a hash-stack.
	Pooling string `yaml:"pooling,omitempty"`
	// SqrtScaling is the same as pooling: sqrt, by Persia's name.
	SqrtScaling bool `yaml:"sqrt-scaling,omitempty"`
	// Raw is the number of ids per sample whose embeddings are concatenated, at most
	// 10,000; 0 means that they are summed. Only feed-forward and dcn-v2 support it.
	Raw int `yaml:"raw,omitempty"`
}

// Values of SlotSetting.Pooling.
const (
	PoolSum  = "sum" // the default
	PoolMean = "mean"
	PoolSqrt = "sqrt"
	PoolMax  = "max"
)

// Scale returns what sums of rows of the slot are multiplied by.
func (s *SlotSetting) Scale() batch.Scale {
	switch {
	case s.SqrtScaling || s.Pooling == PoolSqrt:
		return batch.SqrtScaled
	case s.Pooling == PoolMean:
		return batch.Mean
	}
	return batch.Unscaled
}

// rawMax bounds the concatenated embeddings of one slot and sample.
const rawMax = 10_000

// isSlotKey reports whether a key of a job file is one of SlotSetting.
func isSlotKey(key string) bool {
	return slices.ContainsFunc(fieldsOf(reflect.ValueOf(&SlotSetting{}).Elem()),
		func(f field) bool { return f.key == key })
}

// poolings are the values of SlotSetting.Pooling.
var poolings = []string{"", PoolSum, PoolMean, PoolSqrt, PoolMax}

// slotDimMax is the largest dimension of a slot.
const slotDimMax = 1 << 16

func validateSlots(settings []SlotSetting) error {
	if len(settings) > columnsMax {
		return fmt.Errorf("slots: %d: must be at most %d", len(settings), columnsMax)
	}
	for i, s := range settings {
		switch {
		case s.Slot == "":
			return fmt.Errorf("slots[%d].slot: empty: name a slot", i)
		case slices.ContainsFunc(settings[:i], func(other SlotSetting) bool { return other.Slot == s.Slot }):
			return fmt.Errorf("slots[%d].slot: %q is there twice", i, s.Slot)
		case s.Raw < 0 || s.Raw > rawMax:
			return fmt.Errorf("slots[%d].raw: %d: must be 1 to %d, or 0 for a sum", i, s.Raw, rawMax)
		case !slices.Contains(poolings, s.Pooling):
			return fmt.Errorf("slots[%d].pooling = %s", i, Unknown(s.Pooling, poolings[1:]))
		case s.SqrtScaling && s.Pooling != "" && s.Pooling != PoolSqrt:
			return fmt.Errorf("slots[%d]: sqrt-scaling is pooling: %s, and there is pooling: %s: leave one "+
				"out", i, PoolSqrt, s.Pooling)
		case s.Pooling == PoolMax && s.Raw > 0:
			return fmt.Errorf("slots[%d]: raw keeps the ids of a sample apart, and pooling: %s joins them: "+
				"leave one out", i, PoolMax)
		case s.Pooling == PoolMax && s.HashStack != batch.HashStack{}:
			return fmt.Errorf("slots[%d]: pooling: %s is of ids with one row each, and a hash-stack gives "+
				"them several: leave one out", i, PoolMax)
		case s.Dim < 0 || s.Dim > slotDimMax:
			return fmt.Errorf("slots[%d].dim: %d: must be 1 to %d, or 0 for that of the model", i, s.Dim,
				slotDimMax)
		case s.Init != nil && !(*s.Init >= 0 && *s.Init <= RowInitMax):
			return fmt.Errorf("slots[%d].init = %g; want 0 to %g", i, *s.Init, RowInitMax)
		case s.Precision != "" && !slices.Contains(table.Precisions(), s.Precision):
			return fmt.Errorf("slots[%d].precision = %s", i, Unknown(s.Precision, table.Precisions()))
		case s.Expiry != nil && !(*s.Expiry >= 0 && *s.Expiry <= RowsMax):
			return fmt.Errorf("slots[%d].expiry = %d; want 0 to %d steps; 0 is never", i, *s.Expiry, RowsMax)
		case s.AdmissionCount != nil &&
			!(*s.AdmissionCount >= 0 && *s.AdmissionCount <= table.AdmissionCountMax):
			return fmt.Errorf("slots[%d].admission-count = %d; want 0 to %d steps", i, *s.AdmissionCount,
				table.AdmissionCountMax)
		case s.Placement != "" && !slices.Contains(RowPlacements(), s.Placement):
			return fmt.Errorf("slots[%d].placement = %s", i, Unknown(s.Placement, RowPlacements()))
		}
		if s.Optimizer != nil {
			if err := s.Optimizer.Validate(); err != nil {
				return fmt.Errorf("slots[%d].optimizer.%w", i, err)
			}
		}
		if err := s.HashStack.Validate(); err != nil {
			return fmt.Errorf("slots[%d].hash-stack: %w", i, err)
		}
	}
	return nil
}

// WeightedSlots returns the names of the slots whose ids have weights.
func (d *Data) WeightedSlots() (names []string) {
	if t := d.Table(); t != nil {
		for _, c := range t.Slots {
			if c.Weighted() {
				names = append(names, c.Column)
			}
		}
	}
	return names
}

// validateWeights returns an error if a slot whose ids have weights forms no sum.
func (d *Data) validateWeights() error {
	weighted := d.WeightedSlots()
	for i, s := range d.Slots {
		if !slices.Contains(weighted, s.Slot) {
			continue
		}
		switch {
		case s.Pooling == PoolMax:
			return fmt.Errorf("slots[%d].pooling: %s takes no weights, and the ids of %s have some: leave "+
				"out the weights, or use %s, %s or %s", i, PoolMax, s.Slot, PoolSum, PoolMean, PoolSqrt)
		case s.Raw > 0:
			return fmt.Errorf("slots[%d].raw: the ids of %s have weights, which only sums have: leave out "+
				"the weights, or raw", i, s.Slot)
		}
	}
	return nil
}

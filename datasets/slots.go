package datasets

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/numeric/batch"
)

// SlotSetting says how the ids of one slot become rows and model input.
type SlotSetting struct {
	Slot string `yaml:"slot"` // its name
	// Group is the feature group whose rows the slot shares: an id names the same
	// rows in all slots of a group. Empty: rows of its own.
	Group string `yaml:"group,omitempty"`
	// HashStack makes an id the sum of a row from each of several rounds, in a
	// table of a fixed size; all slots of a group have the same.
	HashStack batch.HashStack `yaml:"hash-stack,omitempty"`
	// SqrtScaling divides sums of n rows by √n, and their gradients.
	SqrtScaling bool `yaml:"sqrt-scaling,omitempty"`
	// Raw is the number of ids of a sample whose embeddings are kept apart, up to 10,000, where 0 sums
	// them: for feed-forward and dcn-v2.
	Raw int `yaml:"raw,omitempty"`
}

// Limits of what a job says about columns.
const (
	rawMax     = 10_000 // embeddings of one slot and sample
	columnsMax = 10_000 // columns of one kind
)

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
		}
		if err := s.HashStack.Validate(); err != nil {
			return fmt.Errorf("slots[%d].hash-stack: %w", i, err)
		}
	}
	return nil
}

// SetSlots gives the slots of a schema their settings. The error names a setting
// whose slot the schema does not have, or settings that contradict each other.
func (c *Config) SetSlots(schema *batch.Schema) error {
	for i, s := range c.Slots {
		at := slices.IndexFunc(schema.Slots, func(slot batch.Slot) bool { return slot.Name == s.Slot })
		if at < 0 {
			var names []string
			for _, slot := range schema.Slots {
				names = append(names, slot.Name)
			}
			return fmt.Errorf("slots[%d].slot: no slot %q: the data have %s", i, s.Slot, strings.Join(names, ", "))
		}
		slot := &schema.Slots[at]
		slot.Group, slot.HashStack, slot.SqrtScaling = s.Group, s.HashStack, s.SqrtScaling
		if s.Raw > 0 {
			slot.Pooling, slot.FixedSize = batch.Raw, s.Raw
		}
	}
	whole := WithDim(*schema, 1)
	return whole.Validate()
}

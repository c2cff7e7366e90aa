package datasets

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// ApplySlots applies the slot settings of a job to a schema. The error names a setting whose
// slot the schema does not have, or settings that contradict each other.
func ApplySlots(settings []job.SlotSetting, schema *batch.Schema) error {
	for i, s := range settings {
		at := slices.IndexFunc(schema.Slots, func(slot batch.Slot) bool { return slot.Name == s.Slot })
		if at < 0 {
			return fmt.Errorf("slots[%d].slot: no slot %q: the data have %s", i, s.Slot,
				strings.Join(slotNames(schema), ", "))
		}
		slot := &schema.Slots[at]
		slot.Group, slot.HashStack, slot.Scale = s.Group, s.HashStack, s.Scale()
		switch {
		case s.Raw > 0:
			slot.Pooling, slot.FixedSize = batch.Raw, s.Raw
		case s.Pooling == job.PoolMax:
			slot.Pooling = batch.Max
		}
	}
	whole := WithDim(*schema, 1)
	return whole.Validate()
}

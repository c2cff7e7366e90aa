package engine

import (
	"errors"
	"fmt"
	"math"

	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/unit"
	"tandem/runtime/cuda/kernels"
)

// withCapacity returns a configuration of rows whose limit is a number of rows.
func withCapacity(c *model.RowsConfig) *model.RowsConfig {
	if c == nil || c.Memory == 0 {
		return c
	}
	limited := *c
	limited.Capacity = c.Most()
	return &limited
}

// checkRows returns an error unless a replica can hold the rows that a configuration asks for.
func checkRows(c *model.ReplicaConfig) error {
	if c.Rows == nil {
		return nil
	}
	switch rows := c.Rows; {
	case c.Ranks == 1 && !c.Summed:
		return errors.New("engine: rows on the GPU of a single rank need gradients that stay there")
	case c.Ranks > kernels.Digits:
		return fmt.Errorf("engine: rows on the GPUs of %d ranks; at most %d", c.Ranks, kernels.Digits)
	case rows.Optimizer.Kind == opt.FTRL:
		return fmt.Errorf("engine: rows on a GPU have no optimizer %s", opt.FTRL)
	case rows.Capacity < 1 || model.RowSlots(rows.Capacity) > math.MaxInt32:
		return fmt.Errorf("engine: room for %d rows on a GPU; want 1 to %d", rows.Capacity,
			math.MaxInt32/3*2-1)
	case c.Groups*c.SamplesMax*rows.Schema.EmbeddingWidth() > math.MaxInt32/2:
		return fmt.Errorf("engine: %d values of pooled embeddings in a batch on a GPU; at most %d",
			c.Groups*c.SamplesMax*rows.Schema.EmbeddingWidth(), math.MaxInt32/2)
	}
	return nil
}

// replicaBytes returns the memory of a replica on a device, for groups of up to a number of samples.
func replicaBytes(d *device, t *trainer, c model.ReplicaConfig, samples int) int {
	m := &memory{measuring: true}
	new(replica).allocate(m, d, t, c, samples)
	return m.bytes + d.Info().WorkspaceBytes()
}

// checkRoomForRows returns an error that says how many rows would fit, if the replica fits with the first of
// its rows and not with all.
func checkRoomForRows(d *device, t *trainer, c model.ReplicaConfig) error {
	free, total, err := d.FreeMemory()
	if err != nil {
		return err
	}
	each, first := c.Rows.RowBytes(), *c.Rows
	first.Capacity = 1
	alone := c
	alone.Rows = &first
	const rounded = 8 * unitOfMemory // what has a part for each row begins at a multiple of it
	rest := free - unit.Bytes(replicaBytes(d, t, alone, c.SamplesMax)+rounded)
	beside, all := "the network", ""
	if c.Ranks > 1 {
		rest -= model.NCCLReserve // what NCCL lacks shows before the first step, too
		beside += fmt.Sprintf(" and %v for NCCL", model.NCCLReserve)
	}
	if most := int(rest / each); most >= 1 && c.Rows.Capacity > most {
		if c.Ranks > 1 {
			all = fmt.Sprintf(", %d rows on %d GPUs", c.Ranks*most, c.Ranks)
		}
		return fmt.Errorf("cuda:%d: %s, and %v of %v are free beside %s; rows.capacity = %d would fit%s",
			d.Info().Ordinal, c.Rows.Needs(c.Rows.Capacity), rest, total, beside, most, all)
	}
	return nil
}

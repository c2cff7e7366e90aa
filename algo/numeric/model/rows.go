package model

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
)

// RowsConfig describes the embedding rows that a replica holds beside the network, in the memory of its
// device, or its share of those that all ranks hold together.
type RowsConfig struct {
	Schema *batch.Schema
	// Slots are the numbers of the slots whose rows these are, in ascending order; nil: of all. What the
	// others give the network comes from the host.
	Slots []int
	// HotOnly says that only the hot rows of these slots are here. What the host gives the network then has
	// the sums over the other rows of these slots, too.
	HotOnly   bool
	Dim       int // values of a row
	Optimizer opt.RowSpec
	Seed      uint64  // of the rows' initial values
	InitBound float32 // of these
	// Capacity is the largest number of rows of a replica, and Memory what they may take; 0: no limit, of one
	// of the two.
	// The memory is taken at once.
	Capacity int
	Memory   unit.Bytes
}

// Own returns the numbers of the slots whose rows these are.
func (c *RowsConfig) Own() []int {
	if c.Slots != nil {
		return c.Slots
	}
	all := make([]int, len(c.Schema.Slots))
	for i := range all {
		all[i] = i
	}
	return all
}

// HostColumns returns the places of the pooled embedding values that come from the host, among those of a
// sample.
func (c *RowsConfig) HostColumns() []int32 {
	own, others := c.Own(), []int(nil)
	for i := range c.Schema.Slots {
		if c.HotOnly || !slices.Contains(own, i) {
			others = append(others, i)
		}
	}
	return c.Schema.Columns(others)
}

// RowSlotBytes are the bytes of a slot of the index on a device, which has half as many again as rows.
const RowSlotBytes = 16

// rowBeside are the bytes of a row on a device beside its values and its state: its sign with a count, and
// the slots of the index for it.
const rowBeside = 12 + RowSlotBytes*3/2

// RowBytes returns the memory that a device takes for each row.
func (c *RowsConfig) RowBytes() unit.Bytes {
	return unit.Bytes(4*(c.Dim+c.Optimizer.StateSize(c.Dim)) + rowBeside)
}

// Needs says in words what memory a number of rows take.
func (c *RowsConfig) Needs(rows int) string {
	each := c.RowBytes()
	return fmt.Sprintf("%d rows of %v (%d values, %d of optimizer state, %d bytes of sign, count and index) "+
		"take %v", rows, each, c.Dim, c.Optimizer.StateSize(c.Dim), rowBeside, each*unit.Bytes(rows))
}

// RowSlots returns the number of slots of an index, of which two thirds are in use when it has a number of
// rows.
func RowSlots(rows int) int { return rows + rows/2 + 1 }

// Most returns the number of rows of a replica that there is room for: the smaller of Capacity and of what
// Memory holds.
func (c *RowsConfig) Most() int {
	if c.Memory == 0 {
		return c.Capacity
	}
	most := int(c.Memory / c.RowBytes())
	if c.Capacity > 0 {
		most = min(most, c.Capacity)
	}
	return most
}

// BatchBytes returns the memory that a replica of one of several ranks takes beside its rows, for batches
// whose bags name a number of rows, each as often as it is named. Package engine allocates as much, to within
// a part in a hundred and 64 KiB.
func (c *RowsConfig) BatchBytes(named, bags, ranks int) unit.Bytes {
	const (
		sorted = 4                   // keys and places, from and to
		kept   = 2 + 3 + sorted      // a sign; where its row, its gradient and its last occurrence are
		counts = 256./2048 + 1./1024 // of digits and of new rows
		read   = 1 << 14             // rows at a time, for evaluation
	)
	row := float64(c.Dim)
	words := float64(named)*(kept+counts+row) + float64(bags) + read*(2+row)
	if ranks > 1 {
		asked := float64(named) * 5 / 4 // of this rank by all, with some to spare
		words += float64(named)*(6+2+2+sorted+row) + asked*(kept+counts+2*row)
	}
	return unit.Bytes(4 * words)
}

// NCCLReserve is what each of several devices leaves free for the library that connects them, which does not
// say before how much it takes: a guess.
const NCCLReserve unit.Bytes = 512 << 20

// RowHolder is a Replica that can hold embedding rows.
type RowHolder interface {
	Replica
	// Rows returns the rows, or nil unless ReplicaConfig.Rows asked for them.
	Rows() DeviceRows
}

// DeviceRows are the embedding rows of a RowHolder. They have the values that a table of package table has
// after the same steps. One goroutine uses them and the replica at a time.
type DeviceRows interface {
	// Forward is Replica.Forward of a part with its ids in RowsConfig.Own, whose rows it finds, or creates,
	// and pools. The Backward that follows updates the rows, at a learning rate, by the mean gradients over
	// the samples of the step, unless something is not finite. The error wraps table.ErrFull if there is no
	// room for a new row.
	//
	// Pooled are the pooled embeddings of the other slots, and rows: the values of RowsConfig.HostColumns of
	// each sample. Where HotOnly, rows are added to them, in the order of ids. Backward writes the gradients
	// of these values, and no others, to grads.
	//
	// Several ranks have the rows together, each those that shard.Rows gives it. Forward of one waits for
	// that of all others, and the rows are updated by RowsTrainer.UpdateRows instead.
	Forward(part *batch.Part, ids []batch.Jagged, pooled, grads []float32, rate float32, samples int) error
	// ReadTrained copies the rows of signs for evaluation, as Table.SnapshotTrained does. It may be called
	// before Forward of another rank has ended, if that waits for the one of the caller.
	ReadTrained(signs []uint64, dst []float32) error
	// Len returns the number of rows.
	Len() (int, error)
	// Applied returns the number of row gradients applied.
	Applied() (int, error)
	// Room returns where the rows are, how many there can be, and the memory that is taken for these.
	Room() RowsRoom
	// CopyRows copies len(c.Signs) rows, from row first on in the order of creation.
	CopyRows(first int, c *table.Columns) error
	// AddRows adds rows, which must be the first.
	AddRows(c *table.Columns) error
}

// RowsRoom is the room for rows on a device.
type RowsRoom struct {
	Device   string
	Capacity int
	Memory   unit.Bytes
}

// RowsTrainer is a Trainer whose replicas can have rows together. All ranks are in one process.
type RowsTrainer interface {
	Trainer
	// JoinRows connects the ranks, when each has its replica.
	JoinRows() error
	// UpdateRows updates the rows of all ranks by their gradients, after every rank's Backward.
	UpdateRows() error
	// GiveUpRows ends the waits of ranks for each other with an error, now and later.
	GiveUpRows()
}

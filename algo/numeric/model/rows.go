package model

import (
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
)

// RowsConfig describes the embedding rows that a replica holds beside the network, in the memory of its
// device, or its share of those that all ranks hold together.
type RowsConfig struct {
	Schema    *batch.Schema
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

// RowHolder is a Replica that can hold embedding rows.
type RowHolder interface {
	Replica
	// Rows returns the rows, or nil unless ReplicaConfig.Rows asked for them.
	Rows() DeviceRows
}

// DeviceRows are the embedding rows of a RowHolder. They have the values that a table of package table has
// after the same steps. One goroutine uses them and the replica at a time.
type DeviceRows interface {
	// Forward is Replica.Forward of a part with its ids, whose rows it finds, or creates, and pools. The
	// Backward that follows returns no gradients of pooled embeddings: it updates the rows, at a learning
	// rate, by the mean gradients over the samples of the step, unless something is not finite. The error
	// wraps table.ErrFull if there is no room for a new row.
	//
	// Several ranks have the rows together, each those that shard.Rows gives it. Forward of one waits for
	// that of all others, and the rows are updated by RowsTrainer.UpdateRows instead.
	Forward(part *batch.Part, ids []batch.Jagged, rate float32, samples int) error
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

package job

import (
	"errors"
	"fmt"
	"strings"

	"tandem/algo/unit"
)

// The values of Data.Complete.
const (
	CompleteRenamed  = "renamed"  // a file is complete when it is there
	CompleteFollowed = "followed" // a file is complete when another with a later name is there
)

// FromInput is the value of Data.From for rows on standard input.
const FromInput = "-"

// Block says where rows on standard input, or messages of a topic, are cut: at what comes first.
type Block struct {
	// Rows is the number of lines after which a file ends; 0: 10,000.
	Rows int `yaml:"rows,omitempty"`
	// Time is the time after which a file ends, counted from its first row; 0: one second. The first file
	// waits ten times as long for rows, because columns and scaling follow from it.
	Time unit.Tick `yaml:"time,omitempty"`
}

// Resolved returns the block with its defaults.
func (b Block) Resolved() Block {
	if b.Rows == 0 {
		b.Rows = 10_000
	}
	if b.Time == 0 {
		b.Time = unit.Second
	}
	return b
}

// validateFrom checks where the files of kind follow come from.
func (d *Data) validateFrom() error {
	switch {
	case d.From != "" && d.From != FromInput && !strings.HasPrefix(d.From, "s3://") && !d.FromTopic():
		return fmt.Errorf(`from: %q: must be "-" for standard input, s3://BUCKET/FOLDER/ or `+
			"kafka://BROKER:PORT/TOPIC", d.From)
	case (d.From == FromInput || d.FromTopic()) && d.Parquet != nil:
		return errors.New("parquet: the rows of from are text: describe their columns with csv")
	case d.From != "" && d.Complete == CompleteFollowed:
		return fmt.Errorf("complete: %q: only without from, whose files are renamed", d.Complete)
	case d.From != FromInput && !d.FromTopic() && d.Block != (Block{}):
		return errors.New(`block: only used with from: "-" or kafka://…`)
	case d.Block.Rows < 0 || d.Block.Time < 0 || d.Block.Time > unit.Hour:
		return fmt.Errorf("block: %d rows, %v: want at least 1 row and a time of at most an hour",
			d.Block.Rows, d.Block.Time)
	}
	return nil
}

// FromTopic reports whether rows are the messages of a topic.
func (d *Data) FromTopic() bool { return strings.HasPrefix(d.From, "kafka://") }

// Format returns the format of the files: KindCSV or KindParquet for kind follow, else Kind.
func (d *Data) Format() DataKind {
	switch {
	case d.Kind != KindFollow:
		return d.Kind
	case d.Parquet != nil:
		return KindParquet
	}
	return KindCSV
}

// validateFollow checks the files of kind follow.
func (d *Data) validateFollow() error {
	switch {
	case d.Path == "" || IsURL(d.Path):
		return fmt.Errorf("path: %q: kind %q needs a folder of this machine", d.Path, d.Kind)
	case d.Train != "" || d.Test != "" || d.Split != (Split{}):
		return fmt.Errorf("train, test, split: kind %q has no test rows, because every row is predicted "+
			"before it is trained on: leave them out", d.Kind)
	case d.Stream:
		return fmt.Errorf("stream: not with kind %q, which has the rows of one file in memory", d.Kind)
	case d.Cache != "" && d.Cache != CacheOff:
		return fmt.Errorf("cache: %q: not with kind %q, which reads every file once", d.Cache, d.Kind)
	case d.Complete != "" && d.Complete != CompleteRenamed && d.Complete != CompleteFollowed:
		return fmt.Errorf("complete: %q: must be %q or %q", d.Complete, CompleteRenamed, CompleteFollowed)
	}
	return d.validateFrom()
}

// validateFollow reports settings of a job that need all of its rows, or several passes over them.
func (j *Job) validateFollow() error {
	if j.Data.Kind != KindFollow {
		return nil
	}
	switch t := &j.Training; {
	case t.Epochs != 1:
		return fmt.Errorf("training.epochs = %d: rows that arrive are trained on once: want 1", t.Epochs)
	case t.Shuffle:
		return errors.New("training.shuffle: rows that arrive are trained on in their order: set it to false")
	case t.EvaluateEvery.Time > 0:
		return fmt.Errorf("training.evaluate-every = %v: rows that arrive are predicted block by block: "+
			"give a number of steps, or leave it out for one block a file", t.EvaluateEvery)
	case j.Delayed():
		return errors.New("training.delay: late gradients are no part of a model that is saved on the way: " +
			"leave it out")
	case j.Rows.Hot.Any():
		return errors.New("rows.hot: which rows are hot is not known before all data are there: leave it out")
	}
	return nil
}

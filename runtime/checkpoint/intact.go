package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Damaged is a checkpoint that cannot be read, and why.
type Damaged struct {
	Folder string
	Err    error
}

// errOther says that a checkpoint is not damaged but of a format that this program does not read.
var errOther = errors.New("use the program that has written it")

// PassedOver returns, for each of some checkpoints, a line that says that training goes on with another one.
func PassedOver(damaged []Damaged, instead *Checkpoint) (lines []string) {
	for _, d := range damaged {
		lines = append(lines, fmt.Sprintf("%v; training continues with %s instead", d.Err, instead.folder))
	}
	return lines
}

// OpenNewest opens the newest checkpoint in a folder whose files all are as they were written. It returns nil
// if the folder has no checkpoint. Newer ones that it has passed over because they are damaged are returned
// too, the newest first. It is an error if all are damaged, or if one cannot be read for another reason.
//
// Cost: a pass over all files of the checkpoint, and of those that are damaged.
func OpenNewest(folder string) (*Checkpoint, []Damaged, error) {
	steps, _, err := list(folder)
	if err != nil {
		return nil, nil, err
	}
	var damaged []Damaged
	for _, step := range slices.Backward(steps) {
		one := StepFolder(folder, step)
		c, err := OpenIntact(one)
		if err == nil {
			return c, damaged, nil
		}
		if errors.Is(err, errOther) || errors.Is(err, fs.ErrPermission) {
			return nil, nil, err
		}
		damaged = append(damaged, Damaged{one, err})
	}
	if len(damaged) == 0 {
		return nil, nil, nil
	}
	var whys []string
	for _, d := range damaged {
		whys = append(whys, d.Err.Error())
	}
	return nil, nil, fmt.Errorf("no checkpoint in %s is intact: %s; put a copy of one in its place, or "+
		"train from the beginning, with another folder", folder, strings.Join(whys, "; "))
}

// OpenIntact is Open, and checks the checksums of the rows, too.
func OpenIntact(folder string) (*Checkpoint, error) {
	c, err := Open(folder)
	if err != nil {
		return nil, err
	}
	if err := c.Verify(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

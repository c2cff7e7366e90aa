package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// StepFolder returns the folder, within a folder of checkpoints, of the checkpoint after a number of steps.
func StepFolder(folder string, step int) string { return filepath.Join(folder, strconv.Itoa(step)) }

// list returns the steps of the complete checkpoints in a folder, in ascending order, and of those of which
// Prune has left a part. A folder that does not exist has none.
func list(folder string) (complete, broken []int, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		step, err := strconv.Atoi(e.Name())
		if err != nil || step < 0 || strconv.Itoa(step) != e.Name() || !e.IsDir() {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, e.Name(), ManifestFile)); err == nil {
			complete = append(complete, step)
		} else {
			broken = append(broken, step)
		}
	}
	slices.Sort(complete)
	return complete, broken, nil
}

// Newest returns the step of the newest complete checkpoint in a folder; ok is false if there is none.
func Newest(folder string) (step int, ok bool, err error) {
	complete, _, err := list(folder)
	if len(complete) == 0 {
		return 0, false, err
	}
	return complete[len(complete)-1], true, nil
}

// Prune removes all but the newest checkpoints of a folder, at least one of which stays. A checkpoint loses
// its manifest first, so that one that is half removed is none.
func Prune(folder string, keep int) error { return prune(disk{}, folder, keep) }

func prune(fs fileSystem, folder string, keep int) error {
	complete, broken, err := list(folder)
	if err != nil {
		return err
	}
	old := complete[:max(len(complete)-max(keep, 1), 0)]
	for _, step := range append(broken, old...) {
		one := StepFolder(folder, step)
		if err := fs.RemoveAll(filepath.Join(one, ManifestFile)); err != nil {
			return fmt.Errorf("cannot remove the checkpoint %s: %w", one, err)
		}
		if err := fs.RemoveAll(one); err != nil {
			return fmt.Errorf("cannot remove the checkpoint %s: %w", one, err)
		}
	}
	return nil
}

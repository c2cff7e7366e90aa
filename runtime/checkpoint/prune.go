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

// SetAside renames a checkpoint that is damaged, so that training can save another one in its place: it is
// kept for a person to look at, and is not found by Newest. Nothing happens if the folder does not exist. It
// is an error if this process finds no damage: then the fault is not in the files.
//
// Cost: a pass over all files.
func SetAside(folder string) error {
	if saved, err := OpenIntact(folder); err == nil {
		return errors.Join(fmt.Errorf("checkpoint %s is intact as the host reads it", folder), saved.Close())
	}
	aside := folder + ".damaged"
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); err != nil {
			break // nothing has this name, or Rename says what is wrong
		}
		aside = fmt.Sprintf("%s.damaged-%d", folder, n)
	}
	if err := os.Rename(folder, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot set a damaged checkpoint aside: %w", err)
	}
	return nil
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

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
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

// Oldest returns the step of the oldest complete checkpoint in a folder; ok is false if there is none.
func Oldest(folder string) (step int, ok bool, err error) {
	complete, _, err := list(folder)
	if len(complete) == 0 {
		return 0, false, err
	}
	return complete[0], true, nil
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

// DefaultKept is a number for Keep.Newest.
const DefaultKept = 3

// Keep says which checkpoints of a folder stay: the newest ones, and those that are younger than a time. The
// newest always stays.
type Keep struct {
	Newest int // their number; at least 1
	For    time.Duration
}

// Prune removes the other checkpoints of a folder. If at least two of the newest stay, and all of these have
// files in common, the newest one that has none with them stays in place of the oldest, so that one damaged
// file does not damage all that are kept. A checkpoint loses its manifest first, so that one that is half
// removed is none.
func Prune(folder string, keep Keep) error { return prune(disk{}, folder, keep, time.Now()) }

func prune(fs fileSystem, folder string, keep Keep, now time.Time) error {
	complete, broken, err := list(folder)
	if err != nil {
		return err
	}
	stays := keep.among(folder, complete, now)
	old := slices.DeleteFunc(complete, func(step int) bool { return slices.Contains(stays, step) })
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

// among returns the checkpoints in a folder, of steps in ascending order, that stay.
func (k Keep) among(folder string, steps []int, now time.Time) []int {
	if len(steps) == 0 {
		return nil
	}
	first := max(len(steps)-max(k.Newest, 1), 0)
	older, stays := steps[:first], slices.Clone(steps[first:])
	if k.Newest > 1 && len(older) > 0 {
		newest := StepFolder(folder, stays[len(stays)-1])
		apart := func(step int) bool { return !shareFiles(newest, StepFolder(folder, step)) }
		if !slices.ContainsFunc(stays, apart) {
			for _, step := range slices.Backward(older) {
				if apart(step) {
					stays[0] = step
					break
				}
			}
		}
	}
	if k.For > 0 {
		for _, step := range steps[:first+1] {
			m, err := readManifest(StepFolder(folder, step))
			if err == nil && now.Sub(m.Written) < k.For {
				stays = append(stays, step)
			}
		}
	}
	return stays
}

// shareFiles reports whether a file of a checkpoint is one of another, too.
func shareFiles(a, b string) bool {
	entries, err := os.ReadDir(a)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		one, err := os.Stat(filepath.Join(a, e.Name()))
		other, missing := os.Stat(filepath.Join(b, e.Name()))
		return err == nil && missing == nil && os.SameFile(one, other)
	})
}

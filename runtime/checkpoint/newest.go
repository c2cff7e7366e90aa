package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// candidates returns the folders in which there may be a model, of a folder: itself; or model and the newest
// checkpoint, in the folder of a mode that a training writes; or, in a folder of checkpoints, the newest.
func candidates(folder string) ([]string, error) {
	all := []string{folder, filepath.Join(folder, "model")}
	for _, checkpoints := range []string{folder, filepath.Join(folder, "checkpoints")} {
		step, ok, err := Newest(checkpoints)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, StepFolder(checkpoints, step))
		}
	}
	return all, nil
}

// HasModel reports whether there is a model where NewestModel looks for one. It may be damaged.
func HasModel(folder string) bool {
	all, err := candidates(folder)
	return err == nil && slices.ContainsFunc(all, func(c string) bool {
		_, err := os.Stat(filepath.Join(c, ManifestFile))
		return err == nil
	})
}

// NewestModel returns the folder and the manifest of the model in a folder: the folder itself, if it holds a
// model; otherwise, in the folder of a mode that a training writes, model or the newest checkpoint, whichever
// has more steps; or the newest one in a folder of checkpoints.
func NewestModel(folder string) (string, *Manifest, error) {
	all, err := candidates(folder)
	if err != nil {
		return "", nil, fmt.Errorf("model %s: %w", folder, explained(folder, err))
	}
	found, newest := "", (*Manifest)(nil)
	for i, c := range all {
		m, err := readManifest(c)
		if errors.Is(err, errNoManifest) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("model %s: %w", c, explained(c, err))
		}
		if newest == nil || m.Step > newest.Step {
			found, newest = c, m
		}
		if i == 0 {
			break
		}
	}
	if newest == nil {
		return "", nil, fmt.Errorf("model %s: %w", folder, explained(folder, errNoManifest))
	}
	return found, newest, nil
}

// readManifest reads the manifest in a folder.
func readManifest(folder string) (*Manifest, error) {
	text, err := os.ReadFile(filepath.Join(folder, ManifestFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoManifest
	}
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	return m, nil
}

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// NewestModel returns the folder and the manifest of the model in a folder: the folder itself, if it holds a
// model; otherwise, in the folder of a mode that a training writes, model or the newest checkpoint, whichever
// has more steps.
func NewestModel(folder string) (string, *Manifest, error) {
	candidates := []string{folder, filepath.Join(folder, "model")}
	checkpoints := filepath.Join(folder, "checkpoints")
	step, ok, err := Newest(checkpoints)
	if err != nil {
		return "", nil, fmt.Errorf("model %s: %w", folder, explained(folder, err))
	}
	if ok {
		candidates = append(candidates, StepFolder(checkpoints, step))
	}
	found, newest := "", (*Manifest)(nil)
	for i, c := range candidates {
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

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// shownModels is the number of models that an error names.
const shownModels = 3

// explained returns the error of reading the manifest in a folder, in words: there is no such folder, it is a
// file, or it has models in folders below it, as the results of a training.
func explained(folder string, err error) error {
	info, missing := os.Stat(folder)
	switch {
	case errors.Is(missing, os.ErrNotExist):
		return errors.New("there is no such folder")
	case missing == nil && !info.IsDir():
		return errors.New("this is a file, and a model is a folder with a " + ManifestFile)
	case !errors.Is(err, errNoManifest):
		return err
	}
	found := modelsBelow(folder)
	switch n := len(found); {
	case n == 0:
		return err
	case n > shownModels:
		found = append(found[:shownModels], fmt.Sprintf("%d more", n-shownModels))
	}
	return fmt.Errorf("there is no %s, but these are models: %s", ManifestFile, strings.Join(found, ", "))
}

// modelsBelow returns the complete models in a folder of results, or of a mode.
func modelsBelow(folder string) (models []string) {
	for _, pattern := range []string{"model", "*/model", "checkpoints/*", "*/checkpoints/*"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern, ManifestFile))
		if err != nil { // the name of the folder is no pattern
			return nil
		}
		for _, manifest := range found {
			if model := filepath.Dir(manifest); !strings.HasPrefix(filepath.Base(model), ".") {
				models = append(models, model)
			}
		}
	}
	return models
}

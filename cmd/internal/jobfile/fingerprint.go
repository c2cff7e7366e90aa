package jobfile

import (
	"crypto/sha256"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/datasets"
)

// Fingerprint returns what two processes of one run must have in common: equal
// data and training, equal fingerprints.
func (j *Job) Fingerprint() ([]byte, error) {
	text, err := yaml.Marshal(struct {
		Data     datasets.Config
		Training job.Training
	}{j.Data, j.Training})
	sum := sha256.Sum256(text)
	return sum[:], err
}

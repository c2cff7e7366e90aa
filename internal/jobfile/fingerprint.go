package jobfile

import (
	"crypto/sha256"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
)

// Fingerprint returns a digest of the settings that all processes of one run must
// have in common: those of data and training. The content of data files is not
// among them: only the data loader and the host open the files, and compare
// datasets.Fingerprint.
func (j *Job) Fingerprint() ([]byte, error) {
	text, err := yaml.Marshal(struct {
		Data     job.Data
		Training job.Job
	}{j.Data, j.Job.Resolved()})
	sum := sha256.Sum256(text)
	return sum[:], err
}

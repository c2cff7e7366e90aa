package datasets

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"tandem/algo/job"
	"tandem/datasets/cache"
)

// Fingerprint returns a digest of the content of the files that Open reads for a
// config: 32 bytes, for files in the order of the config, of each its size and
// the SHA-256 of samples from it. Neither names nor times of files enter it, so
// copies of the files on another machine have the same fingerprint. A kind
// without files has one fingerprint: its rows follow from the config alone.
//
// A file of up to 4 MiB is sampled whole, a larger one at 64 places of 64 KiB,
// from its first to its last byte: a change of fewer bytes elsewhere in it that
// keeps its size is not found. Cost: reading and hashing at most 4 MiB a file,
// about 10 ms.
//
// The error names the file that cannot be read.
func Fingerprint(cfg job.Data, dataDir string) ([]byte, error) {
	digest := sha256.New()
	for _, name := range []string{cfg.Path, cfg.Train, cfg.Test} {
		if name == "" {
			continue
		}
		path, err := locate(dataDir, name)
		if err != nil {
			return nil, fmt.Errorf("datasets: %w", err)
		}
		for i, part := range append([]string{filepath.Base(path)}, formatOf(&cfg).beside...) {
			s, err := cache.Identify(filepath.Join(filepath.Dir(path), part))
			if err == nil && s.Missing && i == 0 {
				err = errMissing(path)
			}
			if err != nil {
				return nil, fmt.Errorf("datasets: %w", err)
			}
			fmt.Fprintln(digest, s.Missing, s.Size, s.Sample)
		}
	}
	return digest.Sum(nil), nil
}

// locate returns the path of a file that a config names.
func locate(dataDir, path string) (string, error) {
	switch {
	case filepath.IsAbs(path):
		return path, nil
	case dataDir == "":
		return "", fmt.Errorf("%s: a relative path, but TANDEM_DATA is not set: set it to the folder of the data",
			path)
	}
	return filepath.Join(dataDir, path), nil
}

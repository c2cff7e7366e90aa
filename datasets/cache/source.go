package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Source describes a file at the time when its rows were read.
type Source struct {
	Path    string `json:"path"` // absolute
	Missing bool   `json:"missing,omitempty"`
	Size    int64  `json:"size"`
	// ModTime is in ns since 1970. It is only compared for equality, never with a clock: if it
	// differs, the file is read again; if it is equal, Sample must be equal too.
	ModTime int64 `json:"modified"`
	// Sample is the SHA-256 of 64 samples of 64 KiB, spread evenly over the file, or of the
	// whole file up to 4 MiB. It finds most changes that keep size and time; only reading
	// the whole file would find all of them.
	Sample string `json:"sample"`
}

const (
	sampleCount = 64
	sampleBytes = 64 << 10
)

// Identify describes a file as it is now. For a file that does not exist, Missing is set.
func Identify(path string) (Source, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Source{}, err
	}
	file, err := os.Open(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return Source{Path: absolute, Missing: true}, nil
	}
	if err != nil {
		return Source{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Source{}, err
	}
	s := Source{Path: absolute, Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	s.Sample, err = Sample(file, s.Size)
	return s, err
}

// Sample returns the SHA-256 of samples from a file of a size, as Source has it.
func Sample(file io.ReaderAt, size int64) (string, error) {
	digest := sha256.New()
	for i := range int64(sampleCount) {
		at := i * sampleBytes
		if size > sampleCount*sampleBytes {
			at = (size - sampleBytes) / (sampleCount - 1) * i
		}
		if _, err := io.Copy(digest, io.NewSectionReader(file, at, sampleBytes)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

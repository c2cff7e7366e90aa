package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
)

// cacheKey names what the result of a compilation depends on.
func cacheKey(device, version, arch, source string, options []string) string {
	h := sha256.New()
	for _, text := range append([]string{device, version, arch, source}, options...) {
		fmt.Fprintf(h, "%d %s\n", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A kept file is the SHA-256 of its key and image, and then the image, so that a damaged file is not used.
func checksum(key string, image []byte) []byte {
	var h hash.Hash = sha256.New()
	fmt.Fprintln(h, key)
	h.Write(image)
	return h.Sum(nil)
}

// cached returns the image that was kept for a key.
func (d *Driver) cached(key string) ([]byte, bool) {
	if d.cache == "" {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(d.cache, key))
	if err != nil || len(data) < sha256.Size {
		return nil, false
	}
	image := data[sha256.Size:]
	return image, bytes.Equal(data[:sha256.Size], checksum(key, image))
}

// keep keeps an image, if the folder can be written: without it, the next process compiles again.
func (d *Driver) keep(key string, image []byte) {
	if d.cache == "" || os.MkdirAll(d.cache, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(d.cache, ".new-")
	if err != nil {
		return
	}
	_, err = f.Write(append(checksum(key, image), image...))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.cache, key))
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

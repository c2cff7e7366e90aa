package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// maxManifestBytes bounds what Receive reads of a manifest, which has some hundred bytes for a column and for
// an embedding PS.
const maxManifestBytes = 64 << 20

// Send hands each file of a complete checkpoint to put, the manifest last. Reading the content ends with an
// error instead of io.EOF if the file is damaged, so nothing damaged is taken for complete elsewhere. Once
// the first file is handed over, the folder may be removed.
func Send(folder string, put func(f File, content io.Reader) error) error {
	m, err := readManifest(folder)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", folder, explained(folder, err))
	}
	text, err := m.encode()
	if err != nil {
		return err
	}
	manifest := File{Name: ManifestFile, Bytes: int64(len(text)), SHA256: sumOf(text)}
	var contents []*checkedFile
	for _, f := range append(m.Files, manifest) {
		file, err := os.Open(filepath.Join(folder, f.Name))
		if err != nil {
			return fmt.Errorf("checkpoint %s: %w", folder, describe(f.Name, err))
		}
		defer file.Close()
		contents = append(contents, &checkedFile{in: bufio.NewReaderSize(file, 1<<20), hash: sha256.New(),
			want: f})
	}
	for _, content := range contents {
		if err := put(content.want, content); err != nil {
			return fmt.Errorf("checkpoint %s: %w", folder, describe(content.want.Name, err))
		}
	}
	return nil
}

// checkedFile reads a file whose checksum must be right.
type checkedFile struct {
	in   io.Reader
	hash hash.Hash
	want File
}

// Read implements io.Reader.
func (c *checkedFile) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.hash.Write(p[:n]) // never fails
	if err == io.EOF && hex.EncodeToString(c.hash.Sum(nil)) != c.want.SHA256 {
		err = errDamaged
	}
	return n, err
}

// IsDamage reports whether an error says that a file is not as it was written.
func IsDamage(err error) bool { return errors.Is(err, errDamaged) || errors.Is(err, errManifest) }

// Receive writes a checkpoint, whose files open reads, to a new folder. It checks sizes and checksums. Under
// its own name the folder is complete.
func Receive(folder string, open func(name string) (io.ReadCloser, error)) error {
	w, err := NewWriter(folder)
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := w.receive(open); err != nil {
		return fmt.Errorf("checkpoint %s: %w", folder, err)
	}
	return nil
}

func (w *Writer) receive(open func(name string) (io.ReadCloser, error)) error {
	var text []byte
	err := reading(open, ManifestFile, func(in io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(in, maxManifestBytes))
		return err
	})
	if err != nil {
		return err
	}
	m, err := decodeManifest(text)
	if err != nil {
		return fmt.Errorf("%s: %w", ManifestFile, err)
	}
	for _, want := range m.Files {
		err := reading(open, want.Name, func(in io.Reader) error {
			got, err := writeFile(w.fs, w.working, want.Name, func(out io.Writer) error {
				_, err := io.Copy(out, io.LimitReader(in, want.Bytes+1))
				return err
			})
			if err == nil && got != want {
				err = fmt.Errorf("%s: %w", want.Name, errDamaged)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := w.writeManifest(text); err != nil {
		return err
	}
	return w.publish()
}

// reading calls read with the content of a file.
func reading(open func(name string) (io.ReadCloser, error), name string, read func(io.Reader) error) error {
	in, err := open(name)
	if err != nil {
		return describe(name, err)
	}
	return errors.Join(read(in), in.Close())
}

package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/algo/job"
)

// File is an open file, or an object that a URL names.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Size() int64 // in bytes; 0 for a pipe
}

// An Opener opens the object that a URL names. Its errors are one line that tells the user what to
// do, after the URL.
type Opener func(url string) (File, error)

// openers are those of programs that import package datasets/blob, by scheme. Programs that read no
// URLs do not link the libraries behind it.
var openers = map[string]Opener{}

// Object is an object of a folder that a URL names.
type Object struct {
	Name, URL string // Name has no slash
	Modified  time.Time
}

// listers list the objects of a folder that a URL names, by scheme, in the order of their names.
var listers = map[string]func(url string) ([]Object, error){}

// RegisterLists sets what lists folders of a scheme. Package datasets/blob calls it when it is imported.
func RegisterLists(scheme string, list func(url string) ([]Object, error)) { listers[scheme] = list }

// List returns the objects in a folder that a URL names, in the order of their names, without those of
// folders within.
func List(url string) ([]Object, error) {
	scheme, _, _ := strings.Cut(url, "://")
	list := listers[scheme]
	if list == nil {
		return nil, fmt.Errorf("this program lists no objects of %s://: build it with -tags s3, as in "+
			"go run -tags s3 ./cmd/train", scheme)
	}
	return list(url)
}

// RegisterURLs sets the opener of URLs of a scheme. Package datasets/blob calls it when it is
// imported.
func RegisterURLs(scheme string, open Opener) { openers[scheme] = open }

// fileScheme is the scheme of URLs of files, which every program opens.
const fileScheme = "file://"

// Path returns the path of a file that a URL of scheme file names. It returns other URLs as they
// are.
func Path(address string) (string, error) {
	if !strings.HasPrefix(address, fileScheme) {
		return address, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" || u.RawQuery != "" {
		return "", fmt.Errorf("%s: no URL of a file: write file:///folder/clicks.csv", address)
	}
	return filepath.FromSlash(u.Path), nil
}

// OpenFile opens a file, or the object that a URL names. The error tells the user what to do.
func OpenFile(path string) (File, error) {
	if job.IsURL(path) && !strings.HasPrefix(path, fileScheme) {
		scheme, _, _ := strings.Cut(path, "://")
		open := openers[scheme]
		if open == nil {
			return nil, noOpener(path, scheme)
		}
		file, err := open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return file, nil
	}
	path, err := Path(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, MissingFile(path)
	}
	if err != nil {
		return nil, err // names the path
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = 0
	}
	return local{file, size}, nil
}

// noOpener returns the error for a URL of a scheme that this program does not open.
func noOpener(path, scheme string) error {
	if len(openers) == 0 && scheme == "s3" {
		return fmt.Errorf("%s: this program opens no s3:// URLs: build it with -tags s3, as in go run -tags "+
			"s3 ./cmd/train, or run the job as processes of cmd/node", path)
	}
	return fmt.Errorf("%s: URLs of scheme %q cannot be opened, only file:// and, by cmd/node, cmd/data and "+
		"cmd/model, s3://", path, scheme)
}

// MissingFile returns the error for a file that does not exist; it wraps fs.ErrNotExist.
func MissingFile(path string) error {
	return fmt.Errorf("%s: %w: check the path, or TANDEM_DATA if it is relative", path, fs.ErrNotExist)
}

// local is a file of this machine.
type local struct {
	*os.File
	size int64
}

// Size implements File.
func (l local) Size() int64 { return l.size }

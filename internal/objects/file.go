package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob"
)

const (
	// rangeBytes is the size of the ranges in which an object is read from its beginning: large beside
	// the latency of a request, small beside the memory of a training.
	rangeBytes = 8 << 20
	// timeout bounds each request.
	timeout = time.Minute
	// attempts is how often a range is requested before reading fails.
	attempts = 4
	// pause is the time before the second attempt; it doubles with each.
	pause = 200 * time.Millisecond
)

// File reads an object. It requests ranges that cannot be read again, so that a large object outlasts short
// failures of the network.
type File struct {
	name    string // in errors
	bucket  *blob.Bucket
	key     string
	size    int64
	changed time.Time // when the object was written
	next    int64     // where Read goes on
	ahead   []byte    // bytes that were read and not returned, before next
}

// NewFile opens the object with a key of a bucket, which must stay open. name stands in errors.
func NewFile(ctx context.Context, bucket *blob.Bucket, key, name string) (*File, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	about, err := bucket.Attributes(ctx, key)
	if err != nil {
		return nil, Explain(err)
	}
	return &File{name: name, bucket: bucket, key: key, size: about.Size, changed: about.ModTime}, nil
}

// Size returns the size in bytes.
func (f *File) Size() int64 { return f.size }

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) {
	if len(f.ahead) == 0 {
		if f.next >= f.size {
			return 0, io.EOF
		}
		f.ahead = make([]byte, min(rangeBytes, f.size-f.next))
		if _, err := f.ReadAt(f.ahead, f.next); err != nil {
			f.ahead = nil
			return 0, err
		}
		f.next += int64(len(f.ahead))
	}
	n := copy(p, f.ahead)
	f.ahead = f.ahead[n:]
	return n, nil
}

// errChanged says that an object has another size or time than when it was opened.
var errChanged = errors.New("the object has changed since it was opened: start again")

// ReadAt implements io.ReaderAt. It requests a range again that cannot be read.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	want := p[:max(min(int64(len(p)), f.size-at), 0)]
	var err error
	for attempt := range attempts {
		if len(want) == 0 {
			break
		}
		if attempt > 0 {
			time.Sleep(pause << (attempt - 1))
		}
		if err = f.readRange(want, at); err == nil || errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		if !errors.Is(err, errChanged) {
			err = Explain(err)
		}
		return 0, fmt.Errorf("%s: %w", f.name, err)
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(p), nil
}

// readRange reads a range once.
func (f *File) readRange(p []byte, at int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	r, err := f.bucket.NewRangeReader(ctx, f.key, at, int64(len(p)), nil)
	if err != nil {
		return err
	}
	if r.Size() != f.size || !r.ModTime().Equal(f.changed) {
		return errors.Join(errChanged, r.Close())
	}
	_, err = io.ReadFull(r, p)
	return errors.Join(err, r.Close())
}

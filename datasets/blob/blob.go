// Package blob lets package datasets read objects of a store, by URLs such as
//
//	s3://bucket/folder/clicks.csv.gz?region=eu-west-1
//
// A program imports it for its effect:
//
//	import _ "tandem/datasets/blob"
//
// It is a separate package because the libraries behind it take long to build: cmd/node, cmd/data
// and cmd/model link it, cmd/train does not. Credentials and region are those of the AWS command
// line: environment, ~/.aws, or the machine's role. Parameters of the URL, as
// endpoint=http://127.0.0.1:9000 and use_path_style=true for another store, are those of
// gocloud.dev/blob/s3blob.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // scheme s3
	"gocloud.dev/gcerrors"

	"tandem/datasets/internal/input"
)

func init() { input.RegisterURLs("s3", open) }

const (
	// rangeBytes is the size of the ranges in which an object is read from its beginning: large beside
	// the latency of a request, small beside the memory of a training.
	rangeBytes = 8 << 20
	// timeout bounds each request.
	timeout = time.Minute
	// openTimeout bounds the first request, which may look for credentials in vain.
	openTimeout = 10 * time.Second
	// attempts is how often a range is requested before reading fails.
	attempts = 4
	// pause is the time before the second attempt; it doubles with each.
	pause = 200 * time.Millisecond
)

// noOldMetadata is the environment variable that keeps the AWS library from looking for credentials by an old
// protocol, which it announces on stderr.
const noOldMetadata = "AWS_EC2_METADATA_V1_DISABLED"

// object is an input.File.
type object struct {
	url     string
	bucket  *blob.Bucket
	key     string
	size    int64
	changed time.Time // when the object was written
	next    int64     // where Read goes on
	ahead   []byte    // bytes that were read and not returned, before next
}

// open is an input.Opener.
func open(address string) (input.File, error) {
	if _, set := os.LookupEnv(noOldMetadata); !set {
		_ = os.Setenv(noOldMetadata, "true") // it fails for invalid names only
	}
	u, err := url.Parse(address)
	key := ""
	if err == nil {
		key = strings.TrimPrefix(u.Path, "/")
	}
	if err != nil || u.Host == "" || key == "" {
		return nil, errors.New("no URL of an object: write s3://BUCKET/KEY")
	}
	u.Path, u.RawPath = "", ""
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	bucket, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, explain(err)
	}
	about, err := bucket.Attributes(ctx, key)
	if err != nil {
		return nil, errors.Join(explain(err), bucket.Close())
	}
	return &object{url: address, bucket: bucket, key: key, size: about.Size, changed: about.ModTime}, nil
}

// explain returns an error of a store as one line that says what to do.
func explain(err error) error {
	code := gcerrors.Code(err)
	switch {
	case code == gcerrors.NotFound:
		return fmt.Errorf("%w: check bucket, key and region", fs.ErrNotExist)
	case code == gcerrors.PermissionDenied:
		return fmt.Errorf("%w: check credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY)", fs.ErrPermission)
	case code == gcerrors.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded):
		return errors.New("the store has not answered in time: check credentials, region and network")
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if strings.Contains(text, "get credentials") {
		return errors.New("there are no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, or add anonymous=true to the URL of a public object")
	}
	return fmt.Errorf("the store cannot be read: %s", text)
}

// Size implements input.File.
func (o *object) Size() int64 { return o.size }

// Close implements input.File.
func (o *object) Close() error { return o.bucket.Close() }

// Read implements input.File.
func (o *object) Read(p []byte) (int, error) {
	if len(o.ahead) == 0 {
		if o.next >= o.size {
			return 0, io.EOF
		}
		o.ahead = make([]byte, min(rangeBytes, o.size-o.next))
		if _, err := o.ReadAt(o.ahead, o.next); err != nil {
			o.ahead = nil
			return 0, err
		}
		o.next += int64(len(o.ahead))
	}
	n := copy(p, o.ahead)
	o.ahead = o.ahead[n:]
	return n, nil
}

// errChanged says that an object has another size or time than when it was opened.
var errChanged = errors.New("the object has changed since it was opened: start again")

// ReadAt implements input.File. It requests a range again that cannot be read.
func (o *object) ReadAt(p []byte, at int64) (int, error) {
	want := p[:max(min(int64(len(p)), o.size-at), 0)]
	var err error
	for attempt := range attempts {
		if len(want) == 0 {
			break
		}
		if attempt > 0 {
			time.Sleep(pause << (attempt - 1))
		}
		if err = o.readRange(want, at); err == nil || errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		if !errors.Is(err, errChanged) {
			err = explain(err)
		}
		return 0, fmt.Errorf("%s: %w", o.url, err)
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(p), nil
}

// readRange reads a range once.
func (o *object) readRange(p []byte, at int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	r, err := o.bucket.NewRangeReader(ctx, o.key, at, int64(len(p)), nil)
	if err != nil {
		return err
	}
	if r.Size() != o.size || !r.ModTime().Equal(o.changed) {
		return errors.Join(errChanged, r.Close())
	}
	_, err = io.ReadFull(r, p)
	return errors.Join(err, r.Close())
}

// Package blob lets package datasets read objects of a store, by URLs such as
//
//	s3://bucket/folder/clicks.csv.gz?region=eu-west-1
//
// A program imports it for its effect:
//
//	import _ "tandem/datasets/blob"
//
// It is a separate package because the libraries behind it take long to build: cmd/node, cmd/data
// and cmd/model link it, cmd/train does not. Package objects says what a URL may have.
package blob

import (
	"context"
	"errors"
	"time"

	"gocloud.dev/blob"

	"tandem/datasets/internal/input"
	"tandem/internal/objects"
)

func init() { input.RegisterURLs("s3", open) }

// openTimeout bounds the first request, which may look for credentials in vain.
const openTimeout = 10 * time.Second

// object is an input.File.
type object struct {
	*objects.File
	bucket *blob.Bucket
}

// Close implements input.File.
func (o *object) Close() error { return o.bucket.Close() }

// open is an input.Opener.
func open(address string) (input.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	bucket, key, err := objects.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, errors.Join(objects.ErrNoURL, bucket.Close())
	}
	file, err := objects.NewFile(ctx, bucket, key, address)
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &object{file, bucket}, nil
}

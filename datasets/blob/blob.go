// Package blob lets package datasets read objects of a store, by URLs such as
//
//	s3://bucket/folder/clicks.csv.gz?region=eu-west-1
//
// A program imports it for its effect:
//
//	import _ "tandem/datasets/blob"
//
// It is a separate package because the libraries behind it take long to build: cmd/node, cmd/data
// and cmd/model link it, cmd/train with -tags s3. Package objects says what a URL may have.
package blob

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"gocloud.dev/blob"

	"tandem/datasets/internal/input"
	"tandem/internal/objects"
)

func init() {
	input.RegisterURLs("s3", open)
	input.RegisterLists("s3", list)
}

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

// listTimeout bounds a listing.
const listTimeout = time.Minute

// list is of the kind that input.RegisterLists takes.
func list(address string) (all []input.Object, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	address, query, _ := strings.Cut(address, "?")
	if query != "" {
		query = "?" + query
	}
	address = strings.TrimSuffix(address, "/") + "/"
	bucket, prefix, err := objects.Open(ctx, address+query)
	if err != nil {
		return nil, err
	}
	defer bucket.Close() // nothing was written
	objectsOf := bucket.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
	for {
		one, err := objectsOf.Next(ctx)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, objects.Explain(err)
		}
		if name := strings.TrimPrefix(one.Key, prefix); !one.IsDir && name != "" {
			escaped := (&url.URL{Path: name}).EscapedPath()
			all = append(all, input.Object{Name: name, URL: address + escaped + query, Modified: one.ModTime})
		}
	}
}

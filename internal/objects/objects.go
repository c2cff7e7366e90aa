// Package objects opens object stores, by URLs such as
//
//	s3://bucket/folder/clicks.csv.gz?region=eu-west-1
//
// Credentials and region are those of the AWS command line: environment, ~/.aws, or the machine's role.
// Parameters of the URL, as endpoint=http://127.0.0.1:9000 and use_path_style=true for another store, are
// those of gocloud.dev/blob/s3blob. The libraries behind it take long to build: cmd/sim must not depend
// on it, nor cmd/train without -tags s3.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // scheme s3
	"gocloud.dev/gcerrors"
)

// noOldMetadata is the environment variable that keeps the AWS library from looking for credentials by an old
// protocol, which it announces on stderr.
const noOldMetadata = "AWS_EC2_METADATA_V1_DISABLED"

// ErrNoURL says that a text names no object.
var ErrNoURL = errors.New("no URL of an object: write s3://BUCKET/KEY")

// Open opens the bucket of a URL of scheme s3, and returns what stands behind it, without the first slash. An
// error is one line that says what to do.
func Open(ctx context.Context, address string) (bucket *blob.Bucket, key string, err error) {
	if _, set := os.LookupEnv(noOldMetadata); !set {
		_ = os.Setenv(noOldMetadata, "true") // it fails for invalid names only
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, "", ErrNoURL
	}
	key = strings.TrimPrefix(u.Path, "/")
	u.Path, u.RawPath = "", ""
	bucket, err = blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, "", Explain(err)
	}
	return bucket, key, nil
}

// Explain returns an error of a store as one line that says what to do.
func Explain(err error) error {
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
	return fmt.Errorf("the store has failed: %s", text)
}

package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"tandem/internal/objects"
	"tandem/runtime/checkpoint"
)

// stallLimit is how long a file may take without a byte on its way.
const stallLimit = 2 * time.Minute

// Store has copies of the checkpoints of a training. One goroutine at a time may use it.
type Store struct {
	url    string
	bucket *blob.Bucket
	// latest has the keys of the files of the copy made last, by what is in them.
	latest map[content]string
}

// content says what is in a file.
type content struct {
	bytes  int64
	sha256 string
}

// Open opens the store of a URL, s3://BUCKET/FOLDER. It must be closed.
func Open(ctx context.Context, address string) (*Store, error) {
	b, folder, err := objects.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	if folder = strings.Trim(folder, "/"); folder != "" {
		b = blob.PrefixedBucket(b, folder+"/")
	}
	return &Store{url: address, bucket: b}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.bucket.Close() }

// copied is a checkpoint of the store.
type copied struct {
	step     int
	keys     []string
	complete time.Time // when its manifest came; zero: it has none
}

func manifestOf(step int) string { return path.Join(strconv.Itoa(step), checkpoint.ManifestFile) }

// list returns the copies by step, those without a manifest, too.
func (s *Store) list(ctx context.Context) ([]*copied, error) {
	ctx, cancel := context.WithTimeout(ctx, stallLimit)
	defer cancel()
	found := map[int]*copied{}
	for keys := s.bucket.List(nil); ; {
		o, err := keys.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, s.failed(err)
		}
		folder, _, _ := strings.Cut(o.Key, "/")
		step, err := strconv.Atoi(folder)
		if err != nil || step < 0 || strconv.Itoa(step) != folder {
			continue
		}
		if found[step] == nil {
			found[step] = &copied{step: step}
		}
		found[step].keys = append(found[step].keys, o.Key)
		if o.Key == manifestOf(step) {
			found[step].complete = o.ModTime
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *copied) int { return a.step - b.step }), nil
}

// failed returns an error of the store.
func (s *Store) failed(err error) error { return fmt.Errorf("%s: %w", s.url, objects.Explain(err)) }

// Newest returns the step of the newest copy, with the text of its job; ok is false if there is none.
func (s *Store) Newest(ctx context.Context) (step int, job []byte, ok bool, err error) {
	all, err := s.list(ctx)
	if err != nil {
		return 0, nil, false, err
	}
	for _, c := range slices.Backward(all) {
		if c.complete.IsZero() {
			continue
		}
		file, err := s.open(ctx, c.step, checkpoint.JobFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // as Fetch does
		}
		if err != nil {
			return 0, nil, false, err
		}
		job, err := io.ReadAll(file)
		return c.step, job, err == nil, err
	}
	return 0, nil, false, nil
}

// open opens a file of a copy.
func (s *Store) open(ctx context.Context, step int, name string) (io.ReadCloser, error) {
	key := path.Join(strconv.Itoa(step), name)
	file, err := objects.NewFile(ctx, s.bucket, key, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.url, err)
	}
	return io.NopCloser(file), nil
}

// Put copies the checkpoint after a number of steps from a folder of checkpoints.
func (s *Store) Put(ctx context.Context, folder string, step int) error {
	// A copy of the same step, as one that is damaged, must not be taken for complete meanwhile.
	if err := s.remove(ctx, []string{manifestOf(step)}); err != nil {
		return err
	}
	here := map[content]string{}
	err := checkpoint.Send(checkpoint.StepFolder(folder, step), func(f checkpoint.File, in io.Reader) error {
		key, is := path.Join(strconv.Itoa(step), f.Name), content{f.Bytes, f.SHA256}
		here[is] = key
		if from, ok := s.latest[is]; ok && s.copy(ctx, key, from) == nil {
			return nil // a store that cannot copy, as S3 more than 5 GB, gets the file again
		}
		return s.send(ctx, key, in)
	})
	if err == nil {
		s.latest = here
	}
	return err
}

// copy copies an object within the store.
func (s *Store) copy(ctx context.Context, to, from string) error {
	ctx, cancel := context.WithTimeout(ctx, stallLimit)
	defer cancel()
	return s.bucket.Copy(ctx, to, from, nil)
}

// send writes an object. After an error the object does not exist.
func (s *Store) send(ctx context.Context, key string, in io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // without this, Close would complete the object
	stalled := time.AfterFunc(stallLimit, func() {
		cancel(fmt.Errorf("%w after %v", context.DeadlineExceeded, stallLimit))
	})
	defer stalled.Stop()
	out, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{DisableContentTypeDetection: true,
		ContentType: "application/octet-stream"})
	if err != nil {
		return s.failed(err)
	}
	source := &watched{in: in, moved: func() { stalled.Reset(stallLimit) }}
	if _, err := io.Copy(out, source); err != nil {
		cause := context.Cause(ctx)
		cancel(nil)
		_ = out.Close() // it fails, as the context has ended
		if source.err != nil {
			return source.err
		}
		return s.failed(cmp.Or(cause, err))
	}
	if err := out.Close(); err != nil {
		return s.failed(cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

// watched calls moved after each read, and keeps the error of reading.
type watched struct {
	in    io.Reader
	moved func()
	err   error // but io.EOF
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	w.moved()
	if err != io.EOF {
		w.err = err
	}
	return n, err
}

// Prune removes the copies that are not to be kept beside that of a step: those of later steps, too, from
// which training has gone back.
func (s *Store) Prune(ctx context.Context, step int, keep checkpoint.Keep) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	number := 0 // of complete copies that training has not gone back from
	for _, c := range slices.Backward(all) {
		if c.step <= step && !c.complete.IsZero() {
			number++
			if number <= keep.Newest || time.Since(c.complete) < keep.For {
				continue
			}
		}
		keys := append([]string{manifestOf(c.step)}, c.keys...) // without it the copy is none
		if err := s.remove(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// remove removes objects, in their order.
func (s *Store) remove(ctx context.Context, keys []string) error {
	for _, key := range keys {
		ctx, cancel := context.WithTimeout(ctx, stallLimit)
		err := s.bucket.Delete(ctx, key)
		cancel()
		if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return s.failed(err)
		}
	}
	return nil
}

// Fetch copies the newest checkpoint that is intact to a folder of checkpoints, if it is later than a number
// of steps. It returns its step, and the errors of newer ones that it has passed over because they are
// damaged. If no later one is intact, it returns 0; this is an error if after is 0.
func (s *Store) Fetch(ctx context.Context, folder string, after int) (step int, damaged []error, err error) {
	all, err := s.list(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, c := range slices.Backward(all) {
		if c.complete.IsZero() || c.step <= after {
			continue
		}
		open := func(name string) (io.ReadCloser, error) { return s.open(ctx, c.step, name) }
		err := checkpoint.Receive(checkpoint.StepFolder(folder, c.step), open)
		if err == nil {
			return c.step, damaged, nil
		}
		if !checkpoint.IsDamage(err) && !errors.Is(err, fs.ErrNotExist) {
			return 0, nil, err
		}
		damaged = append(damaged, err)
	}
	if after > 0 {
		return 0, damaged, nil
	}
	return 0, nil, errors.Join(append(damaged, fmt.Errorf("%s: no copy is intact", s.url))...)
}

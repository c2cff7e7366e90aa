package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"tandem/datasets/internal/input"
)

// objects brings the objects of a folder of a store, in the order of their names, each once.
type objects struct {
	*Feed
	known map[string]bool
}

const (
	// listEvery is the time after which a folder of a store is listed again.
	listEvery = time.Second
	// attempts is how often the store may fail in a row, with pauses that double from listEvery on, before
	// the feed ends: half a minute in all.
	attempts = 6
)

// startObjects begins to bring objects.
func (f *Feed) startObjects(ctx context.Context, from string, known map[string]bool) error {
	names, err := f.countAhead(known)
	if err != nil {
		return err
	}
	for _, name := range names {
		known[name] = true
	}
	if _, err := input.List(from); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	o := &objects{f, known}
	go o.follow(ctx)
	return nil
}

// follow brings objects until the feed is stopped.
func (o *objects) follow(ctx context.Context) {
	for failures := 0; ; {
		err := o.bringAll()
		if failures++; err == nil {
			failures = 0
		}
		o.mu.Lock()
		if failures >= attempts {
			o.end(err)
		}
		going := !o.stopped && !o.ended
		o.mu.Unlock()
		if !going {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(listEvery << max(failures-1, 0)):
		}
	}
}

// bringAll brings the objects that are there now.
func (o *objects) bringAll() error {
	all, err := input.List(o.from)
	if err != nil {
		return fmt.Errorf("%s: %w", o.from, err)
	}
	for _, object := range all {
		if o.known[object.Name] || !isWhole(object.Name) {
			continue
		}
		o.mu.Lock()
		going := o.waitForRoom()
		o.mu.Unlock()
		if !going {
			return nil
		}
		if err := o.bring(object); err != nil {
			return err
		}
		o.known[object.Name] = true
	}
	return nil
}

// bring copies an object. The file has the time of the object, so that one that is brought again is the same.
func (o *objects) bring(object input.Object) error {
	in, err := input.OpenFile(object.URL)
	if err != nil {
		return err
	}
	defer in.Close()
	name := filepath.Join(o.folder, object.Name)
	part, err := os.Create(name + partName)
	if err != nil {
		return err
	}
	if _, err := io.Copy(part, in); err != nil {
		return errors.Join(err, part.Close())
	}
	if err := os.Chtimes(part.Name(), time.Time{}, object.Modified); err != nil {
		return errors.Join(err, part.Close())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return part.Close()
	}
	return o.finish(part)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
)

// The results of a reload.
const (
	reloadLoaded  = "loaded"
	reloadRefused = "refused"
	reloadFailed  = "failed"
)

// follower replaces the model of a service by a newer one of its folder.
type follower struct {
	service *service
	folder  string
	log     io.Writer
	tried   string // checksum of the model that was tried last
	missing string // the last error of looking for models, which is logged once
}

// follow looks for a newer model after every period, until ctx ends.
func (f *follower) follow(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.poll()
		}
	}
}

// poll replaces the model if there is a newer one: one with more steps, or another in the same folder. A
// model that cannot be served is tried once.
func (f *follower) poll() {
	folder, found, err := checkpoint.NewestModel(f.folder)
	if err != nil {
		if text := err.Error(); text != f.missing {
			f.missing = text
			fmt.Fprintf(f.log, "serve: no newer model: %s\n", text)
		}
		return
	}
	f.missing = ""
	now := f.service.live.Acquire()
	defer now.Release()
	if found.SHA256 == now.Checksum() || found.SHA256 == f.tried ||
		found.Step <= now.Steps() && folder != now.Folder() {
		return
	}
	f.tried = found.SHA256
	m, result, err := f.replace(folder)
	f.service.counts.reloaded(result)
	if err != nil {
		what := "cannot be loaded"
		if result == reloadRefused {
			what = "is refused"
		}
		fmt.Fprintf(f.log, "serve: a newer model %s, step %d is still served: %v\n", what, now.Steps(), err)
		return
	}
	fmt.Fprintf(f.log, "serve: model %s of step %d replaces that of step %d\n", folder, m.Steps(),
		now.Steps())
}

// replace opens a model, verifies all its files and serves it.
func (f *follower) replace(folder string) (m *inference.Model, result string, err error) {
	if m, err = inference.Open(folder); err != nil {
		return nil, reloadFailed, err
	}
	if err = m.Verify(); err == nil {
		err = check(m)
	}
	if err != nil {
		return nil, reloadFailed, errors.Join(err, m.Close())
	}
	if err = f.service.live.Replace(m); err != nil {
		return nil, reloadRefused, errors.Join(fmt.Errorf("model %s: %w", folder, err), m.Close())
	}
	return m, reloadLoaded, nil
}

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
	reloadChanges = "changes" // only rows that have changed were read
	reloadRefused = "refused"
	reloadFailed  = "failed"
)

// follower replaces the model of a service by newer ones.
type follower struct {
	service *service
	find    func() (folder string, m *checkpoint.Manifest, err error) // of the newest model
	log     io.Writer
	// training, if not nil, is the training whose models are served, and no others. Nil: a model with the
	// same columns is served, too.
	training *training
	// patience is how long files of a newer model may be missing, or not be complete, before an error says
	// so. Then the model is tried once more after each patience; with 0, never.
	patience time.Duration
	// staleAfter, if not 0, is the age of a model at which a line says that there is no newer one.
	staleAfter time.Duration

	trouble trouble
	stale   bool
	changes int // newer models that brought changed rows alone
}

// trouble is what keeps a newer model from being served.
type trouble struct {
	what  string    // a checksum of a model, or an error
	since time.Time // of the first time
	named time.Time // when a line said so, or the model was tried again; zero: not yet
}

// waits reports whether something is not to be tried now, because a line has said that it does not work.
func (f *follower) waits(what string, now time.Time) bool {
	t := &f.trouble
	return t.what == what && !t.named.IsZero() && (f.patience == 0 || now.Sub(t.named) < f.patience)
}

// names notes that something does not work, and reports whether it is time to say so: once, after the
// patience, or at once.
func (f *follower) names(what string, atOnce bool, now time.Time) bool {
	t := &f.trouble
	if t.what != what {
		*t = trouble{what: what, since: now}
	}
	again := !t.named.IsZero()
	if again || atOnce || now.Sub(t.since) >= f.patience {
		t.named = now
	}
	return !again && !t.named.IsZero()
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
			f.poll(time.Now())
		}
	}
}

// poll replaces the model if there is a newer one: one with more steps, or another in the same folder.
func (f *follower) poll(now time.Time) {
	current := f.service.live.Acquire()
	defer current.Release()
	defer func() { f.checkAge(now) }()
	folder, found, err := f.find()
	if err != nil {
		if text := err.Error(); f.names(text, false, now) {
			fmt.Fprintf(f.log, "serve: no newer model: %s\n", text)
		}
		return
	}
	if found.SHA256 == current.Checksum() || f.waits(found.SHA256, now) ||
		found.Step <= current.Steps() && folder != current.Folder() {
		return
	}
	m, err := f.replace(current.Model, folder)
	if err == nil {
		f.trouble = trouble{}
		f.replaced(m, current.Steps())
		return
	}
	what, result := "cannot be loaded", reloadFailed
	if errors.Is(err, errRefused) {
		what, result = "is refused", reloadRefused
	}
	if f.names(found.SHA256, result == reloadRefused, now) {
		f.service.counts.reloaded(result)
		fmt.Fprintf(f.log, "serve: a newer model %s, step %d is still served: %v\n", what, current.Steps(),
			err)
	}
}

// errRefused is the cause of not serving a model that is intact.
var errRefused = errors.New("refused")

// replace opens a model, verifies what the current one does not have of it, and serves it.
func (f *follower) replace(current *inference.Model, folder string) (m *inference.Model, err error) {
	if m, err = current.OpenNext(folder); err != nil {
		return nil, err
	}
	if err = check(m); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if f.training != nil {
		err = current.CheckTraining(m)
	}
	if err == nil {
		err = f.service.live.Replace(m)
	}
	if err != nil {
		return nil, errors.Join(&refusal{errRefused, fmt.Errorf("model %s: %w", folder, err)}, m.Close())
	}
	return m, nil
}

// replaced notes that a newer model is served. Changes, which may come every second, get a line the first
// time alone, which says so.
func (f *follower) replaced(m *inference.Model, before int) {
	f.service.counts.replaced(m, time.Now())
	note := ""
	if _, changes := m.ChangedRows(); f.training != nil && changes {
		if f.changes++; f.changes > 1 {
			return
		}
		note = "; of the next ones that bring changed rows alone there is no line"
	}
	fmt.Fprintf(f.log, "serve: model %s of step %d replaces that of step %d%s\n", m.Folder(), m.Steps(),
		before, note)
}

// checkAge says once that the model is old, and once that there is a newer one.
func (f *follower) checkAge(now time.Time) {
	if f.staleAfter == 0 {
		return
	}
	current := f.service.live.Acquire()
	defer current.Release()
	age := now.Sub(current.Written())
	switch stale := age > f.staleAfter; {
	case stale && !f.stale:
		f.stale = true
		fmt.Fprintf(f.log, "serve: the model of step %d is %v old, and there is no newer one: %s\n",
			current.Steps(), age.Round(time.Second), f.training.state())
	case !stale && f.stale:
		f.stale = false
		fmt.Fprintf(f.log, "serve: newer models come again, step %d is served\n", current.Steps())
	}
}

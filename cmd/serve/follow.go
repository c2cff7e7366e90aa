package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/algo/exec/backend"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
)

// training is a training whose models are served as it saves them. It may not have begun.
type training struct {
	results string // its folder, which has a temporary name until the training has ended
	mode    string // the folder of models within results; empty until there is one
	machine backend.Backend
}

// folders returns the folders that may have the results: those of their name, and of temporary ones. Results
// may be the folder of a mode in results that have a temporary name.
func (t *training) folders() []string {
	all := append([]string{t.results}, cli.Unfinished(t.results)...)
	for _, parent := range cli.Unfinished(filepath.Dir(t.results)) {
		all = append(all, filepath.Join(parent, filepath.Base(t.results)))
	}
	return all
}

// newest returns the newest model, and its folder.
func (t *training) newest() (folder string, newest *checkpoint.Manifest, err error) {
	if err := t.chooseMode(); err != nil {
		return "", nil, err
	}
	for _, results := range t.folders() {
		place := filepath.Join(results, t.mode)
		if !checkpoint.HasModel(place) {
			continue
		}
		one, m, unread := checkpoint.NewestModel(place)
		if unread != nil { // another folder may have a newer model
			err = unread
			continue
		}
		if newest == nil || m.Step > newest.Step {
			folder, newest = one, m
		}
	}
	if newest == nil {
		return "", nil, cmp.Or(err, errNoModel)
	}
	return folder, newest, nil
}

// errNoModel says that a training has saved no model.
var errNoModel = errors.New("the training has no model yet; one with --checkpoint-every saves them on the " +
	"way")

// chooseMode finds which folder of the results has models. Later it is that one.
func (t *training) chooseMode() error {
	if t.mode != "" {
		return nil
	}
	var found []string
	for _, results := range t.folders() {
		if checkpoint.HasModel(results) {
			t.mode = "."
			return nil
		}
		entries, _ := os.ReadDir(results) // a folder that does not exist has none
		for _, e := range entries {
			if name := e.Name(); checkpoint.HasModel(filepath.Join(results, name)) &&
				!slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	switch len(found) {
	case 0:
		return errNoModel
	case 1:
		t.mode = found[0]
		return nil
	}
	slices.Sort(found)
	return fmt.Errorf("the training has models of several modes; name one of %s in --follow",
		strings.Join(found, ", "))
}

// state says what the training does, as far as its folder shows it.
func (t *training) state() string {
	left := append(cli.Unfinished(t.results), cli.Unfinished(filepath.Dir(t.results))...)
	_, err := os.Stat(t.results)
	switch {
	case slices.ContainsFunc(left, cli.IsLocked):
		return "the training runs"
	case err != nil:
		return "the training was killed; cmd/train --resume continues it"
	default:
		return "the training has ended, or its processes save no models"
	}
}

// first waits for the first model of a training, opens it and verifies it. It returns nil if ctx ends before.
func (t *training) first(ctx context.Context, period time.Duration, log io.Writer) (*inference.Model, error) {
	said := ""
	for {
		folder, _, err := t.newest()
		var m *inference.Model
		if err == nil {
			m, err = inference.OpenOn(t.machine, folder)
		}
		if err == nil {
			if err = m.Verify(); err == nil {
				return m, nil
			}
			err = errors.Join(err, m.Close())
		}
		if text := err.Error(); text != said {
			said = text
			fmt.Fprintf(log, "serve: waits for a model in %s: %s\n", t.results, text)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(period):
		}
	}
}

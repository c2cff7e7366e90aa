package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/runtime/driver"
)

// Unfinished is a model of which processes are writing their parts: see Options.SaveApart.
type Unfinished struct {
	// Folder has the model once it is complete, as the processes reach it. It is set beside an error, too.
	Folder string
	// Finish completes the model, after every process has written its part. Discard gives it up instead.
	Finish  func() error
	Discard func()
}

// unfinished is the model that the processes of a training write while the training goes on. When it is
// complete, it is an origin.
type unfinished struct {
	origin
	export *driver.Export // nil: no process has begun to write
	begun  time.Time
	lost   chan struct{} // closed when a process is lost, which may not have written its part
	ended  chan struct{} // closed when the model is complete, or is not going to be
	took   time.Duration // to write it; set before ended is closed, as is err
	err    error
}

// errAbandoned is the error of a model that lacks the part of a lost process.
var errAbandoned = errors.New("the model was not complete when a process was lost")

// finish completes the model when every process has written its part.
func (a *apart) finish(u *unfinished, model Unfinished) {
	defer close(u.ended)
	defer func() { a.report(u, model.Folder) }()
	select {
	case <-u.export.Done():
	case <-u.lost:
	}
	select {
	case <-u.export.Done():
		u.err = u.export.Err()
	default:
		u.err = errAbandoned
	}
	if u.err != nil {
		model.Discard()
		return
	}
	u.err = model.Finish()
	u.took = time.Since(u.begun)
}

// report names the model in the error of one that could not be saved, and reports it.
func (a *apart) report(u *unfinished, folder string) {
	if u.err == nil || errors.Is(u.err, errAbandoned) {
		return
	}
	u.err = &unsavedError{folder, u.err}
	if a.options.Unsaved != nil {
		a.options.Unsaved(u.err)
	}
}

// unsavedError is the error of a model that could not be saved to a folder.
type unsavedError struct {
	folder string
	reason error
}

// Error implements error.
func (e *unsavedError) Error() string {
	return fmt.Sprintf("the model cannot be saved to %s: %v", e.folder, e.reason)
}

// Unwrap returns the reason.
func (e *unsavedError) Unwrap() error { return e.reason }

// save makes the processes begin to write the model after a number of steps. It first waits until the model
// before is complete.
func (a *apart) save(ctx context.Context, end int, drain time.Duration) error {
	start := time.Now()
	if err := a.await(ctx); err != nil {
		return err
	}
	u := &unfinished{begun: time.Now(), lost: make(chan struct{}), ended: make(chan struct{})}
	model, err := a.options.SaveApart(end, a.model.State(), func(folder string) (names []string, err error) {
		if u.export, err = a.options.Cluster.Export(ctx, folder, a.options.FullEvery); err != nil {
			return nil, err
		}
		return u.export.Names, nil
	})
	if err != nil && (model.Folder == "" || isLoss(err) || ctx.Err() != nil) {
		return err
	}
	u.Step, u.Model = end, model.Folder
	a.unfinished = u
	if err != nil {
		u.export, u.err = nil, err
		a.report(u, model.Folder)
		close(u.ended)
	} else {
		go a.finish(u, model)
	}
	a.saved = time.Now()
	a.pause = &Pause{Step: end, Drain: drain, Save: a.saved.Sub(start)}
	return nil
}

// settle waits, between two segments, until the model that the processes write, if there is one, is complete.
func (a *apart) settle(ctx context.Context) error {
	u := a.unfinished
	if u == nil {
		return nil
	}
	if u.export != nil {
		err := a.options.Cluster.AwaitExport(ctx, u.export)
		select {
		case <-u.export.Done(): // an error is that of the export
		default:
			return err
		}
	}
	<-u.ended
	return a.add()
}

// await is settle where training goes on if the model could not be saved, and the one before remains.
func (a *apart) await(ctx context.Context) error {
	err := a.settle(ctx)
	if errors.As(err, new(*unsavedError)) && a.options.Unsaved != nil {
		return nil // it is reported
	}
	return err
}

// isLoss reports whether an error says that a process was lost, or has lost what it holds.
func isLoss(err error) bool {
	return errors.As(err, new(*driver.LostError)) || errors.As(err, new(*driver.ModelError))
}

// add makes the model that the processes have written an origin, and returns why it is none.
func (a *apart) add() error {
	u := a.unfinished
	a.unfinished = nil
	if u.err != nil {
		return u.err
	}
	a.origins, a.restarts = append(a.origins, u.origin), 0
	if a.pause != nil { // it was waited for
		a.pause.Write = u.took
	} else if last := len(a.result.Pauses) - 1; last >= 0 {
		a.result.Pauses[last].Write = u.took
	}
	return nil
}

// giveUp ends the writing of a model, if there is one, after an error of the training: the model is complete
// if every process has written its part, and otherwise there is none.
func (a *apart) giveUp() {
	if a.unfinished == nil {
		return
	}
	close(a.unfinished.lost)
	<-a.unfinished.ended
	_ = a.add() // the origin before remains
}

// exportAll makes the processes write their parts of the model, with all rows, to a folder, and waits until
// they have.
func (a *apart) exportAll(ctx context.Context, folder string) (names []string, err error) {
	e, err := a.options.Cluster.Export(ctx, folder, 1)
	if err == nil {
		err = a.options.Cluster.AwaitExport(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	return e.Names, nil
}

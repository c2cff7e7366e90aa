package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tandem/algo/protocol/delay"
	"tandem/internal/cli"
)

// checkTrace refuses to overwrite a file, before time is spent.
func (q *request) checkTrace() error {
	if q.trace == "" {
		return nil
	}
	if _, err := os.Stat(q.trace); !errors.Is(err, fs.ErrNotExist) {
		return cli.UsageError("choose another name", "--staleness-trace: %s exists already", q.trace)
	}
	return nil
}

// writeTrace writes the own staleness of the last prediction as delays to train
// with.
func (q *request) writeTrace(r *result) error {
	if q.trace == "" {
		return nil
	}
	out, err := os.OpenFile(q.trace, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	o := &r.predictions[len(r.predictions)-1]
	comment := fmt.Sprintf(
		`own staleness of %s on %d %s, simulated, batches missed by a read; for train --delay "trace FILE"`,
		o.mode, o.gpus, q.unitName())
	if err := delay.WriteCounts(out, comment, o.answer.Staleness.Own.All()); err != nil {
		return err
	}
	return out.Close()
}

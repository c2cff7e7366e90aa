package replay

import (
	"errors"
	"fmt"
	"io"
)

// incarnations are the streams of a role, one for each incarnation of its process. A process that was killed
// has recorded each input before it acted on it (Writer.Through). So its stream is cut short behind the last
// input that had any effect, or behind one that had none: then its outputs are messages that were lost.
type incarnations struct {
	streams []*Reader
	at      int    // index of the one that is read
	before  uint64 // inputs of the streams before
}

func newIncarnations(first *Reader) *incarnations {
	all := &incarnations{}
	for r := first; r != nil; r = r.later {
		all.streams = append(all.streams, r)
	}
	return all
}

// last returns the stream of the last incarnation that is known, or nil.
func (r *Reader) last() *Reader {
	for r != nil && r.later != nil {
		r = r.later
	}
	return r
}

// Next returns the next step, as Reader.Next does.
func (i *incarnations) Next() (*Step, error) {
	for {
		r := i.streams[i.at]
		s, err := r.Next()
		switch {
		case err == nil:
			s.number += i.before
			s.begins = r.inputs == 1
			return s, nil
		case i.at == len(i.streams)-1:
			return nil, err
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: %w: it has an end, and the role came back", r.later.name, ErrDamaged)
		case !errors.Is(err, ErrCutShort):
			return nil, err
		}
		i.before += r.inputs
		i.at++
	}
}

// incarnation returns the incarnation of the process whose stream is read.
func (i *incarnations) incarnation() uint32 { return i.streams[i.at].header.Incarnation }

// digest returns that of the parameters at the end, once all is read.
func (i *incarnations) digest() uint64 { return i.streams[i.at].end.Digest }

// rewind goes back to the first step.
func (i *incarnations) rewind() error {
	i.at, i.before = 0, 0
	for _, r := range i.streams {
		if err := r.rewind(); err != nil {
			return err
		}
	}
	return nil
}

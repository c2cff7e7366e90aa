package train

import (
	"fmt"
	"strconv"
	"time"

	"tandem/algo/job"
)

// Saving says when a model is saved on the way: at an interval, at one that training chooses, or never, which
// is the zero value.
type Saving struct {
	Every job.Every
	Auto  bool // training chooses; Every is then zero
}

// DefaultFullEvery is a number for Options.FullEvery.
const DefaultFullEvery = 10

// auto is the text form of Saving.Auto.
const auto = "auto"

// Any reports whether the model is saved on the way.
func (s Saving) Any() bool { return s.Auto || s.Every.Any() }

// Use sets the options of a training.
func (s Saving) Use(o *Options) {
	o.SaveEvery, o.SaveAfter, o.SaveAuto = s.Every.Steps, time.Duration(s.Every.Time), s.Auto
}

// String returns the text that UnmarshalText reads.
func (s Saving) String() string {
	if s.Auto {
		return auto
	}
	return s.Every.String()
}

// MarshalText returns the text that UnmarshalText reads. The error is always nil.
func (s Saving) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads auto, or what job.ParseEvery reads. A number alone is one of steps.
func (s *Saving) UnmarshalText(text []byte) (err error) {
	written := string(text)
	if *s = (Saving{Auto: written == auto}); s.Auto {
		return nil
	}
	if _, err := strconv.Atoi(written); err == nil {
		written += " steps"
	}
	if s.Every, err = job.ParseEvery(written); err != nil {
		err = fmt.Errorf("%w, or auto", err)
	}
	return err
}

package report

import (
	"context"
	"time"

	"github.com/spf13/pflag"
)

// Adapt makes an Experiment of the earlier form. It goes when the last one is converted.
func Adapt(old interface {
	Name() string
	Question() string
	Help() string
	QuickTime() time.Duration
	Run(ctx context.Context, o Options) (*Report, error)
}) *Experiment {
	e := &Experiment{Name: old.Name(), Question: old.Question(), Help: old.Help(), QuickTime: old.QuickTime(), Run: old.Run}
	if f, ok := old.(interface{ AddFlags(*pflag.FlagSet) }); ok {
		e.AddFlags = f.AddFlags
	}
	if f, ok := old.(interface{ Missing() error }); ok {
		e.Missing = f.Missing
	}
	if f, ok := old.(interface{ ReadsStored() (string, bool) }); ok {
		e.ReadsStored = f.ReadsStored
	}
	return e
}

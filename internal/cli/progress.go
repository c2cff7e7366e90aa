package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is a progress bar on a terminal; it writes nothing if the output is not a terminal.
type Progress struct {
	w        io.Writer
	terminal bool
	// Narrow makes the bar short and leaves out its times, for descriptions that have the time left.
	Narrow bool
	bar    *progressbar.ProgressBar // nil until the total is known
	total  int                      // of the bar
}

// NewProgress returns a bar that writes to w if w is a terminal.
func NewProgress(w io.Writer, terminal bool) *Progress { return &Progress{w: w, terminal: terminal} }

// Show sets the bar to done of total. What describes the current work. Another total begins a new bar.
func (p *Progress) Show(done, total int, what string) {
	if !p.terminal {
		return
	}
	if p.total != total {
		p.Close()
		p.total = total
	}
	if p.bar == nil {
		width := 30
		if p.Narrow {
			width = 12
		}
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetWidth(width),
			progressbar.OptionSetPredictTime(!p.Narrow),
			progressbar.OptionSetElapsedTime(!p.Narrow),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Describe(what)
	// A bar that cannot be drawn is not a reason to stop the work.
	_ = p.bar.Set(done)
}

// Close removes the bar.
func (p *Progress) Close() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

package cli

import (
	"fmt"
	"io"
	"time"
	"unicode/utf8"

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

// ShowParts is Show with a description of several parts, of which those that come first are shown where the
// terminal has no room for all.
func (p *Progress) ShowParts(done, total int, parts []string) {
	const barColumns = 24 // of a narrow bar with its percentage
	columns, ok := terminalWidth(p.w)
	if !ok {
		columns = Columns
	}
	what := parts[0]
	for _, part := range parts[1:] {
		if longer := what + "  " + part; utf8.RuneCountInString(longer)+barColumns <= columns {
			what = longer
		}
	}
	p.Show(done, total, what)
}

// TimeLeft says how long something may take, such as "3 min 20 s left".
func TimeLeft(d time.Duration) string {
	s := int(max(d, 0).Round(time.Second) / time.Second)
	switch {
	case s >= 3600:
		return fmt.Sprintf("%d h %d min left", s/3600, s%3600/60)
	case s >= 60:
		return fmt.Sprintf("%d min %d s left", s/60, s%60)
	}
	return fmt.Sprintf("%d s left", s)
}

// Close removes the bar.
func (p *Progress) Close() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

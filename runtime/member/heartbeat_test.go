package member

import (
	"testing"
	"testing/synctest"
	"time"
)

// Silence is detected after the limit, and before one and a half times the limit.
func TestSilenceIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l silenceDetector
		silent := make(chan struct{})
		start := time.Now()
		go l.watch(time.Second, nil, func() { close(silent) })
		for range 20 { // heartbeats, 900 ms apart
			time.Sleep(900 * time.Millisecond)
			l.received.Store(true)
		}
		heard := time.Since(start)
		<-silent
		if took := time.Since(start) - heard; took < time.Second || took > 1500*time.Millisecond {
			t.Errorf("noticed after %v", took)
		}
	})
}

// While a message is being handled nothing is read, and this does not count as silence.
func TestHandlingIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l silenceDetector
		l.busy.Store(true)
		gone := make(chan struct{})
		go l.watch(time.Second, gone, func() { t.Error("silent") })
		time.Sleep(time.Minute)
		close(gone)
	})
}

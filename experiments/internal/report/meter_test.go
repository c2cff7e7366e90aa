package report

import (
	"testing"
	"time"
)

// The time left is the time of the finished trainings, scaled to the others.
func TestMeter(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var texts []string
	var done, total int
	m := &Meter{Total: 80, Report: func(d, n int, what string) {
		done, total = d, n
		texts = append(texts, what)
	}}
	at := start
	m.now = func() time.Time { return at }
	m.Show(0, 1, "first")
	at = at.Add(36 * time.Second)
	m.Done = 12 // twelve trainings in 36 s, so 68 take 204 s
	m.Show(0, 1, "next")
	m.Show(1, 2, "half") // 12.5 in 36 s, so 67.5 take 194 s
	m.Done = 80
	m.Show(0, 1, "last")
	m.Unit = "cases"
	m.Show(0, 1, "x")
	for i, want := range []string{
		"0 of 80 trainings: first", "12 of 80 trainings, about 3 min left: next",
		"12 of 80 trainings, about 3 min left: half", "80 of 80 trainings, a few seconds left: last",
		"80 of 80 cases, a few seconds left: x",
	} {
		if texts[i] != want {
			t.Errorf("%q, want %q", texts[i], want)
		}
	}
	if done != 8000 || total != 8000 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
}

func TestTimeLeft(t *testing.T) {
	for d, want := range map[time.Duration]string{
		9 * time.Second: "a few seconds", 44 * time.Second: "about 40 s", 101 * time.Second: "about 2 min",
		59 * time.Minute: "about 59 min", 150 * time.Minute: "about 2.5 h",
	} {
		if got := timeLeft(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

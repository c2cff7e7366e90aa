package job_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/unit"
)

func TestParseEvery(t *testing.T) {
	for text, want := range map[string]job.Every{
		"500 steps": {Steps: 500}, " 1 step ": {Steps: 1}, "7steps": {Steps: 7},
		"30s":   {Time: 30 * unit.Second},
		"1.5ms": {Time: 1500 * unit.Microsecond}, "2 s": {Time: 2 * unit.Second}, "never": {},
	} {
		if got, err := job.ParseEvery(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0 steps", "-3 steps", "steps", "500", "0s", "-1s", "forever",
		"often", "1.5 steps", "1e400 s"} {
		if got, err := job.ParseEvery(text); err == nil ||
			!strings.Contains(err.Error(), "500 steps, 30s or never") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// What is written reads back as it was.
func TestEveryTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want, got job.Every
		if n := rapid.Int64Min(0).Draw(t, "n"); rapid.Bool().Draw(t, "steps") {
			want.Steps = int(n)
		} else {
			want.Time = unit.Tick(n)
		}
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := got.UnmarshalText(text); want.Time < unit.Forever && (err != nil || got != want) {
			t.Fatalf("%+v became %q, and that %+v, %v", want, text, got, err)
		}
	})
}

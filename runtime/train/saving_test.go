package train

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/unit"
)

func TestSavingText(t *testing.T) {
	for text, want := range map[string]Saving{
		"auto": {Auto: true}, "never": {}, "500 steps": {Every: job.Every{Steps: 500}},
		"30s": {Every: job.Every{Time: 30 * unit.Second}},
	} {
		var s Saving
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text ||
			s.Any() != (text != "never") {
			t.Errorf("%q: %+v, %v, as text %q", text, s, err, s)
		}
	}
	var s Saving
	if err := s.UnmarshalText([]byte("7")); err != nil || s.Every.Steps != 7 {
		t.Errorf("a number alone: %+v, %v", s, err)
	}
	if err := s.UnmarshalText([]byte("often")); err == nil ||
		err.Error() != `"often" is no interval; write it as 500 steps, 30s or never, or auto` {
		t.Errorf("often: %v", err)
	}
}

package system

import (
	"strings"
	"testing"
)

// A profile with an accuracy reads what it writes, and no error is out of range.
func TestAccuracyIsReadAsItIsWritten(t *testing.T) {
	want := Accuracy{Common: 0.1, Single: 0.25, Steps: 7, Median: 0.12, Source: "steps", Date: "2026"}
	const head = "name: mine\narchitecture: step-graph\nbase: hugectr\n"
	p, err := read(t, head+want.Text())
	if err != nil || p.Accuracy == nil || *p.Accuracy != want {
		t.Fatalf("%+v, error %v", p.Accuracy, err)
	}
	if p, err := read(t, head); err != nil || p.Accuracy != nil || p.Calibration != nil {
		t.Errorf("a base passes %+v and %+v on, error %v", p.Accuracy, p.Calibration, err)
	}
	for _, x := range []struct {
		set  func(*Accuracy)
		want string
	}{
		{func(a *Accuracy) { a.Common = -1 }, "accuracy.common = -1; want 0 to 3"},
		{func(a *Accuracy) { a.Single = 4 }, "accuracy.single = 4; want 0 to 3"},
		{func(a *Accuracy) { a.Steps = 0 }, "accuracy.steps = 0; want at least 1"},
		{func(a *Accuracy) { a.Median = -0.1 }, "accuracy.median = -0.1; want at least 0"},
		{func(a *Accuracy) { a.Source = "" }, "accuracy.source: no source"},
	} {
		a := want
		x.set(&a)
		if _, err := read(t, head+a.Text()); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want %q", err, x.want)
		}
	}
}

package preset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// bus is a profile that lacks a length until it is complete.
type bus struct{ Name, Base, Length string }

func (b *bus) Complete() error {
	if b.Base == "none" {
		return errors.New("no base")
	}
	if b.Base != "" {
		b.Length = b.Base + " m"
	}
	return nil
}

func (b *bus) Validate() error {
	if b.Length == "" {
		return errors.New("no length")
	}
	return nil
}

// buses has two profiles that are whole, and three that are not.
var buses = &Library{Kind: "bus", Folder: "profiles", Files: fstest.MapFS{
	"profiles/short.yaml":  {Data: []byte("name: short\nlength: 8 m\n")},
	"profiles/long.yaml":   {Data: []byte("name: long\nbase: 18\n")},
	"profiles/README.md":   {Data: []byte("no profile")},
	"profiles/empty.yaml":  {Data: []byte("name: empty\n")},
	"profiles/based.yaml":  {Data: []byte("name: based\nbase: none\n")},
	"profiles/strict.yaml": {Data: []byte("name: strict\nlenght: 8 m\n")},
}}

// Profiles are read by name or path, completed, and checked. Errors name the file, and say whether the name
// or the content is wrong.
func TestProfilesAreLoaded(t *testing.T) {
	if got := buses.Names(); !slices.Equal(got, []string{"based", "empty", "long", "short", "strict"}) {
		t.Errorf("names %q", got)
	}
	own := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(own, []byte("name: own\nbase: 12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bus{"short": {"short", "", "8 m"}, "long": {"long", "18", "18 m"},
		own: {"own", "12", "12 m"}} {
		var got bus
		if err := buses.Load(name, &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, want := range map[string]struct {
		is    error
		words string
	}{
		"shorr":  {ErrUnknown, `unknown profile "shorr"; the nearest is "short"`},
		"tram":   {ErrUnknown, `unknown profile "tram"; known are based, empty, long, short, strict`},
		"empty":  {ErrInvalid, "invalid profile: profiles/empty.yaml: no length"},
		"based":  {ErrInvalid, "invalid profile: profiles/based.yaml: no base"},
		"strict": {ErrInvalid, "invalid profile: profiles/strict.yaml"},
	} {
		err := buses.Load(name, new(bus))
		if !errors.Is(err, want.is) || !strings.HasPrefix(err.Error(), want.words) {
			t.Errorf("%s: %v, want %s", name, err, want.words)
		}
	}
}

// By letters alone, X200 is the nearest to V1000, which takes three changes.
func TestSuggestionPrefersTheSameFirstLetters(t *testing.T) {
	known := []string{"H100-SXM5", "V100-SXM2-32GB", "X200", "nvlink4"}
	for name, want := range map[string]string{
		"V100": "V100-SXM2-32GB", "V1000": "V100-SXM2-32GB", "V100-PCIe": "V100-SXM2-32GB",
		"nvlink44": "nvlink4", "X201": "X200",
	} {
		if got := suggestion(name, known); got != `"`+name+`"; the nearest is "`+want+`"` {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

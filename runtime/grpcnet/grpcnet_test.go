package grpcnet

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// The first refusal of a peer and reason is logged at once, the others as a number at the end.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	var lines []string
	r := Refusals{Log: func(line string) { lines = append(lines, line) }}
	for i := range 3 {
		r.Add("10.0.0.1", "malformed", fmt.Sprintf("frame %d", i))
	}
	r.Add("10.0.0.1", "stale", "incarnation 1")
	r.LogCounts()
	want := []string{
		"refused 10.0.0.1: frame 0", "refused 10.0.0.1: incarnation 1", "refused 10.0.0.1 3 times: malformed",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

// Peers cannot make the counts grow without bound.
func TestRefusalsAreBounded(t *testing.T) {
	var r Refusals
	for i := range 2 * keysMax {
		r.Add(fmt.Sprint("peer ", i), "malformed", "")
	}
	counts := r.Counts()
	if len(counts) != keysMax+1 {
		t.Errorf("%d counts, want %d", len(counts), keysMax+1)
	}
	if !slices.Contains(counts, Count{"others", "malformed", keysMax}) {
		t.Error("refusals beyond the bound are not counted under others")
	}
}

// A port that is in use is an error that says what to do.
func TestListenOnBusyPort(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	address := busy.Addr().String()
	_, err = Listen(address)
	want := "cannot listen on " + address + ": address already in use; stop "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}

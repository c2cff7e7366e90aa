package timeline

import (
	"tandem/algo/unit"
)

// Timeline is what the stations of a run did between two instants.
type Timeline struct {
	From, To unit.Tick
	Tracks   []Track
	Arrows   []Arrow
}

// Track is one station, or the work of one role.
type Track struct {
	Group   string  // what the station belongs to, such as a rank
	Name    string  // within its group
	Class   string  // of like stations, as station.Use names it; empty for a role whose work is no station
	Servers float64 // at least 1
	Spans   []Span  // by their starts
	Loads   []Load  // by their instants
}

// Batch names the samples of a rank in a step. Rank is −1 where work is on the samples of all ranks.
type Batch struct{ Rank, Step int32 }

// Span is one piece of work. It has waited since Ready, and was in service from Start to End.
type Span struct {
	Name              string
	Batch             Batch
	Ready, Start, End unit.Tick
}

// Load is the number of busy servers from an instant to the next load.
type Load struct {
	At   unit.Tick
	Busy float64
}

// Place is one span of a timeline.
type Place struct{ Track, Span int }

// Arrow leads from a span to one that needs its result.
type Arrow struct {
	Name          string // of the message
	From, To      Place
	Sent, Arrived unit.Tick
}

// Span returns the span at a place.
func (t *Timeline) Span(p Place) *Span { return &t.Tracks[p.Track].Spans[p.Span] }

// Begins reports whether a span begins between the instants of the timeline.
func (t *Timeline) Begins(s *Span) bool { return s.Start >= t.From && s.Start < t.To }

// Clip returns the part of a span between the instants of the timeline; start is not before end where there
// is none.
func (t *Timeline) Clip(s *Span) (start, end unit.Tick) {
	return max(s.Start, t.From), min(s.End, t.To)
}

// Share returns the part of the time of all its servers in which a track was busy.
func (t *Timeline) Share(track *Track) float64 {
	busy := 0.0
	for i := range track.Spans {
		start, end := t.Clip(&track.Spans[i])
		busy += float64(max(0, end-start))
	}
	for i, load := range track.Loads {
		end := t.To
		if i+1 < len(track.Loads) {
			end = track.Loads[i+1].At
		}
		busy += load.Busy * float64(max(0, min(end, t.To)-max(load.At, t.From)))
	}
	return busy / (float64(t.To-t.From) * track.Servers)
}

// Cut leaves what overlaps the time from one instant to another. Spans stay whole.
func (t *Timeline) Cut(from, to unit.Tick) {
	t.From, t.To = from, to
	places := make([][]int, len(t.Tracks)) // of the old spans; −1 for those that are left out
	for k := range t.Tracks {
		track := &t.Tracks[k]
		var kept []Span
		for i := range track.Spans {
			place := -1
			if start, end := t.Clip(&track.Spans[i]); start < end {
				place = len(kept)
				kept = append(kept, track.Spans[i])
			}
			places[k] = append(places[k], place)
		}
		track.Spans = kept
		first := 0
		for first+1 < len(track.Loads) && track.Loads[first+1].At <= from {
			first++
		}
		track.Loads = track.Loads[first:]
		for len(track.Loads) > 0 && track.Loads[len(track.Loads)-1].At >= to {
			track.Loads = track.Loads[:len(track.Loads)-1]
		}
	}
	var arrows []Arrow
	for _, a := range t.Arrows {
		a.From.Span, a.To.Span = places[a.From.Track][a.From.Span], places[a.To.Track][a.To.Span]
		if a.From.Span >= 0 && a.To.Span >= 0 {
			arrows = append(arrows, a)
		}
	}
	t.Arrows = arrows
}

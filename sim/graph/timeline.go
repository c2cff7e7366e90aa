package graph

import (
	"math"

	"tandem/algo/unit"
	"tandem/sim/timeline"
)

// batchesAhead is how many batches the work of a stream is ahead of the step that has it.
var batchesAhead = [streams]int32{Inputs: 1, Copies: 2}

// timeline returns what the streams did between two instants, in nanoseconds. Launches are spans of the host
// thread. An arrow leads from a node, or from its launch, to one of another stream that awaits it.
func (r *runner) timeline(from, to float64) timeline.Timeline {
	var t timeline.Timeline
	for s := range streams {
		t.Tracks = append(t.Tracks, timeline.Track{Group: "slowest rank", Name: s.String(), Class: s.String(),
			Servers: 1})
	}
	places := map[int]timeline.Place{} // by item
	nodes := r.step.Nodes
	for s := range streams {
		track := &t.Tracks[s]
		queue := r.queues[s]
		for at := range len(queue) * r.steps {
			step, node := at/len(queue), queue[at%len(queue)]
			n, k := &nodes[node], 2*(step*len(nodes)+node)+1
			name := n.Name
			if s == Host && n.Stream != Host {
				k, name = k-1, "launch "+n.Name
			}
			it := &r.items[k]
			if !(it.end > it.start) { // has not ended, or takes no time
				continue
			}
			ready := it.start
			if it.cause >= 0 {
				ready = min(ready, r.items[it.cause].end)
			}
			places[k] = timeline.Place{Track: int(s), Span: len(track.Spans)}
			track.Spans = append(track.Spans, timeline.Span{Name: name,
				Batch: timeline.Batch{Rank: -1, Step: int32(step) + batchesAhead[n.Stream]},
				Ready: tick(ready), Start: tick(it.start), End: tick(it.end)})
		}
	}
	for step := range r.steps {
		for node := range nodes {
			r.addArrows(&t, places, step, node)
		}
	}
	t.Cut(tick(from), tick(to))
	return t
}

// addArrows adds the arrows to a node.
func (r *runner) addArrows(t *timeline.Timeline, places map[int]timeline.Place, step, node int) {
	n, size := &r.step.Nodes[node], len(r.step.Nodes)
	item := 2*(step*size+node) + 1
	to, known := places[item]
	if !known {
		return
	}
	arrow := func(name string, cause int) {
		if from, known := places[cause]; known && from.Track != to.Track {
			at := tick(r.items[cause].end)
			t.Arrows = append(t.Arrows, timeline.Arrow{Name: name, From: from, To: to, Sent: at, Arrived: at})
		}
	}
	arrow("launch", item-1)
	for _, j := range n.After {
		arrow("result", 2*(step*size+j)+1)
	}
	for _, j := range n.AfterPrevious {
		arrow("result of the step before", 2*((step-1)*size+j)+1)
	}
}

func tick(nanos float64) unit.Tick { return unit.Tick(math.Round(nanos)) }

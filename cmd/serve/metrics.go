package main

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"tandem/runtime/inference"
	"tandem/runtime/metrics"
)

// counts are what the server has answered. Its methods may be called from any goroutine.
type counts struct {
	mu       sync.Mutex
	requests map[outcome]uint64
	seconds  float64
	rows     int
	batches  uint64
	joined   int // requests in the batches
	reloads  map[string]uint64
	changed  int     // rows
	delay    float64 // seconds, from the training until newer models were served
	served   uint64  // newer models
}

// outcome is what requests are counted by.
type outcome struct{ protocol, status string }

// answered counts a request for predictions.
func (c *counts) answered(protocol, status string, took time.Duration, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[outcome]uint64{}
	}
	c.requests[outcome{protocol, status}]++
	c.seconds += took.Seconds()
	c.rows += rows
}

// computed counts requests that were computed together.
func (c *counts) computed(requests, _ int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches++
	c.joined += requests
}

// reloaded counts a newer model, by what became of it.
func (c *counts) reloaded(result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reloads == nil {
		c.reloads = map[string]uint64{}
	}
	c.reloads[result]++
}

// replaced counts a newer model that is served.
func (c *counts) replaced(m *inference.Model, now time.Time) {
	rows, changes := m.ChangedRows()
	result := reloadLoaded
	if changes {
		result = reloadChanges
	}
	c.reloaded(result)
	c.mu.Lock()
	defer c.mu.Unlock()
	if changes {
		c.changed += rows
	}
	c.delay += now.Sub(m.Written()).Seconds()
	c.served++
}

// collect adds the model and what has been counted to a snapshot.
func (s *service) collect(to *metrics.Snapshot) {
	if now := s.live.Acquire(); now != nil {
		to.Add(metrics.ServedStep, float64(now.Steps()))
		to.Add(metrics.ServedAge, time.Since(now.Written()).Seconds())
		to.Add(metrics.QueuedRequests, float64(now.Queue.Waiting()))
		now.Release()
	}
	s.counts.collect(to)
}

// collect adds what has been counted to a snapshot.
func (c *counts) collect(to *metrics.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := uint64(0)
	for _, o := range slices.SortedFunc(maps.Keys(c.requests), func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.status, b.status))
	}) {
		to.Add(metrics.Requests, float64(c.requests[o]), "protocol", o.protocol, "status", o.status)
		all += c.requests[o]
	}
	to.AddSummary(metrics.RequestTime, c.seconds, all)
	to.Add(metrics.PredictedRows, float64(c.rows))
	to.AddSummary(metrics.BatchRequests, float64(c.joined), c.batches)
	for _, result := range []string{reloadLoaded, reloadChanges, reloadRefused, reloadFailed} {
		to.Add(metrics.Reloads, float64(c.reloads[result]), "result", result)
	}
	to.Add(metrics.ChangedRows, float64(c.changed))
	to.AddSummary(metrics.ServeDelay, c.delay, c.served)
}

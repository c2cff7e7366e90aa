package main

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"tandem/runtime/metrics"
)

// counts are what the server has answered.
type counts struct {
	mu       sync.Mutex
	requests map[int]uint64 // by status
	seconds  float64
	rows     int
}

// answered is a response whose status is kept.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// counted counts the answers of a handler of requests for predictions.
func (c *counts) counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begin, a := time.Now(), &answered{w, http.StatusOK}
		next(a, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.requests == nil {
			c.requests = map[int]uint64{}
		}
		c.requests[a.status]++
		c.seconds += time.Since(begin).Seconds()
	}
}

// predicted counts rows.
func (c *counts) predicted(rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += rows
}

// collect adds what has been counted to a snapshot.
func (c *counts) collect(to *metrics.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := uint64(0)
	for _, status := range slices.Sorted(maps.Keys(c.requests)) {
		to.Add(metrics.Requests, float64(c.requests[status]), "status", strconv.Itoa(status))
		all += c.requests[status]
	}
	to.AddSummary(metrics.RequestTime, c.seconds, all)
	to.Add(metrics.PredictedRows, float64(c.rows))
}

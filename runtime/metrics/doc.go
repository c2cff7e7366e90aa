// Package metrics serves what a process knows of its run over HTTP, for Prometheus and for people.
//
// Serve answers /metrics in the text format of Prometheus, /healthz, and /debug/pprof. All metrics are
// declared in names.go; a Snapshot holds their values at one moment.
//
// Prometheus has a client library of its own. The text is a few lines, which the official parser checks in a
// test, and cmd/train links no exporter.
package metrics

// Package saving says how often a training saves its model if it chooses by itself: --checkpoint-every auto.
// The runtime trains by it, and the simulator predicts what it costs.
package saving

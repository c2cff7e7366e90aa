// Package saving decides when a training saves its model with --checkpoint-every auto. The runtime follows
// it, and the simulator predicts what it costs.
package saving

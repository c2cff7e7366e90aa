// Command node is one role of a training cluster in a process of its own.
//
// Its command host is the host of a run; cmd/train --processes is the host and starts the processes that the
// job asks for. The command cert makes the certificates by which they know each other. The command manifests
// prints what starts the processes on Kubernetes, with Compose or under Slurm.
//
// # Kubernetes
//
// A role is an indexed Job whose containers start again on failure. A process that ends with success is done.
// Anything else continues from the newest model, with no operator of our own. The price is the back-off of
// Kubernetes between starts.
package main

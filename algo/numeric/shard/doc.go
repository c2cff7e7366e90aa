// Package shard assigns embedding rows to PSs.
//
// # Tables that lie on one PS each
//
// They do not exist yet. They would need a second kind of Plan, and a setting of the job from which
// Job.ShardPlan makes it. Routing and evaluation ask the plan already; sim/cost/workload.go expects rows to
// be spread evenly.
//
// If PSs also pool, so that pooled embeddings travel instead of rows, they need a flag of the plan as well.
// Pool and merge then move from algo/exec/embedding_worker.go to embedding_ps.go. The sizes change in
// algo/exec/admission.go and sim/cost/prices.go, and package wire gets a second form of Rows and Put.
package shard

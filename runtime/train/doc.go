// Package train trains one job, from the first batch to the evaluation of the trained model.
//
// A program needs a job.Job, a batch.Source of training batches, and a batch of test rows. The example of
// this package makes all three in memory:
//
//	result, err := train.Run(ctx, j, source, test, train.Options{})
//	fmt.Println(result.AUC, result.LogLoss)
//
// Run trains in this process, with one goroutine for each role and each lane of its work (package driver).
// Sequential training, the reference, has no roles. With Options.Cluster the roles are in other processes;
// package process has such a Cluster.
//
// # Pauses
//
// Options.Begin restores a model and begins after it. SaveEvery (cmd/train --checkpoint-every) ends the roles
// at multiples of a number of steps, saves, and trains on with new roles on the same executor. SaveAfter does
// so after a time, and an interruption does so once. Package checkpoint says what a pause changes.
//
// A run can also be asked to end at a step that was not chosen before (Options.Drain). The loader then asks
// every rank to offer an end; algorithm and proof are in packages role (drain.go) and search.
//
// # Measuring
//
// pace.Meter measures every read from the records of the roles, and pace.StageMeter the stages. Run compares
// the staleness with the bounds of the mode's rule, and returns an error if one is broken.
package train

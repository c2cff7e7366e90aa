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
// Follow trains on rows that arrive, without an end, and predicts each before.
//
// # Pauses
//
// Options.Begin restores a model and begins after it. SaveEvery (cmd/train --checkpoint-every) ends the roles
// at multiples of a number of steps, saves, and trains on with new roles on the same executor. SaveAfter does
// so after a time, and an interruption does so once. Package checkpoint says what a pause changes.
//
// Processes of a Cluster write the model while they train on (unfinished.go). It is an origin, from which
// training can begin again, when all of them have written. At any time they write one model: another that is
// due by time waits, with SaveEvery training waits, and so it does at its end. One that cannot be written is
// reported (Options.Unsaved), and is no origin.
//
// Hot rows that are chosen again on the way (job.Hot.Every) change their owners between two runs of roles,
// too (hot.go). The choice follows from the job, the data and the step, so nothing but the end of the roles
// is agreed, and a training that continues at a step has the rows of one without a pause. In this process
// rows move from table to table. Processes choose at checkpoints only. If other rows become hot there, each
// process waits for the checkpoint, and reads the rows that it owns from then on. Counting stands still
// rather than run beside the training, because it would take the cores of the roles, and a batch.Source need
// not be safe for two readers.
//
// A run can also be asked to end at a step that was not chosen before (Options.Drain). The loader then asks
// every rank to offer an end; algorithm and proof are in packages role (drain.go) and search.
//
// # Losses
//
// A training in processes that has lost one of them begins again from the model that was saved last, or from
// the beginning (Options.RestartsMax; recovery.go). It counts how often it did so from one model: a limit in
// time would end a long training on a bad day, although it advances. What a part had measured before its loss
// does not count. A saved model that is damaged is set aside, and the one before it is taken.
//
// # Measuring
//
// pace.Meter measures every read from the records of the roles, and pace.StageMeter the stages. Run compares
// the staleness with the bounds of the mode's rule, and returns an error if one is broken.
package train

// Package trial trains what an experiment compares, every training once.
//
// A Spec is everything that decides the outcome of a training, and its hash is the training's ID. A Lab
// trains specs on all cores and appends a line to trials.jsonl in the results folder when one has ended. A
// Lab in a folder that has lines already, of an interrupted run, takes the results from there:
//
//	lab, err := trial.Open(o)
//	results, err := lab.Run(ctx, specs)
//
// Sequential trainings, with or without delays, and simulated ones give the same bits in every run. They are
// what an experiment should rest on, and run side by side. A training with real threads takes all cores, so
// it runs alone; its order of updates, and with it its result, differ from run to run.
//
// # Decisions
//
// The ID of a training is a hash of its job and of what it is evaluated on, not of the code. So a changed
// setting is another training. The price: a run that another program resumes mixes two programs; its report
// names both commits.
//
// Sync is trained sequentially where only its numbers matter: it has the same bits, and no threads, so
// trainings run side by side.
package trial

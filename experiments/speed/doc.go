// Package speed has the experiments that set Tandem beside the programs of others:
//
//	speed       sparse and dense steps and trainings on cores, beside PyTorch and FBGEMM
//	gpu         dense steps on a GPU, beside PyTorch and torch.compile
//	modules     trainings with a module of PyTorch, beside a plain script
//	processes   what a training keeps of its rate in several processes
//	serving     predictions, beside onnxruntime
//	defaults    AUC at the defaults of cmd/train --data, beside other libraries
//
// # How it is measured
//
// Each peer is a process of its own, driven by a committed script and lines of JSON. All sides read the same
// values from files and have the same number of threads. What they have after three steps, optimizers
// included, must agree before anything is timed.
//
// Sides alternate within one run, and each round begins with another one, because the speed of a machine
// drifts. A ratio is taken in every round, and the median counts. Where the rows of all sides do not fit in
// memory together, one side after the other loads its rows, is measured and frees them, in every round;
// tables mark such a ratio.
//
// What the machine can do at most, such as multiply-adds in registers or a bare loop over rows whose places
// are known, takes its turn in the same rounds. Goals are fixed in the plan before the first run.
package speed

// Package torch runs a dense network that a user writes in PyTorch: jobs with model.kind = torch.
//
// Every rank has one Python, which has the module and nothing else: parameters, gradients and the optimizer's
// state are the framework's, also where torch.optim takes the steps. A process without ranks has one only for
// as long as it asks what the module is, and for predictions. So every mode works, sums over ranks have the
// order of the tree, and a checkpoint needs nothing from Python. The program of that process is
// python/tandem_worker, which is part of this package.
//
// Requests and replies are lines of JSON on two pipes, answered in order. Numbers lie in memory that both
// processes map. It is cut into areas: the parameters of a replica, and for every pass its inputs, results
// and gradients, whose order is that of views here and of Pass in its worker.py. A pass copies what it gets
// to its area and its gradients from there, and parameters that do not lie in shared memory.
//
//	forward    logits are ready, or in their place the loss of a module that computes its own
//	backward   for every bucket: its gradients are final; then: those of the embeddings are
//
// # Decisions
//
//   - The loss of logits is computed here, by the code of the built-in networks. So a module needs no loss,
//     and weights of labels and samples mean the same.
//   - A module has one thread, unless OMP_NUM_THREADS says otherwise: ranks share the cores, and bits that
//     depend on the number of threads would depend on the number of ranks.
//   - A group is a pass of its own, as in every engine. This keeps the bits of sync the same on any number of
//     ranks, and costs a few exchanges of lines for each group.
//   - Random numbers of a module, as for dropout, follow from the samples of the group and their embeddings,
//     because no part of a pass knows step or rank. Every training pass is seeded, as a trial cannot know
//     which passes draw.
//   - The process of a rank serves one training after another, because import torch takes seconds.
//   - What goes wrong in Python is an error of the engine, with which the ranks end. All processes of a
//     module end with the first error, with this process, or when a request takes longer than a limit. Each
//     leads a group, and what the module has started ends with it. A process that a signal has ended is
//     model.ErrLost: a training may begin again, and a prediction is computed by another process.
//   - torch.optim steps parameters of its own, with a state that comes and goes with every step. So no
//     process holds a state that a checkpoint, or another rank, would have to ask for.
//   - A model has the module as ONNX, so that it is served without a program that may do anything. The graph
//     has no values, and so is that of all checkpoints of a training; it is made once, when this begins, by a
//     process of its own. The evaluator of ONNX compares it with the module.
//   - A job has the text of the file. So all processes of a run, and all that open its models, run the same.
//   - A module is tried with made-up samples before it is trained: twice with each of two numbers of them,
//     for state that it keeps, and made from two seeds, for random numbers that would differ from rank to
//     rank. Every process compares names and shapes of its parameters with those of the first.
//   - PyTorch's batch norm refuses one sample, which the last groups of an epoch may have. It gives the shift
//     here, as that of the built-in networks does. More rows than samples are refused, because variances of
//     several groups are put together by the number of their samples.
package torch

package main

const runUsage = `Predict one mode on one number of GPUs, and show what the prediction rests on.

The report has the throughput, the busiest resources, the time of every stage,
how much the throughput changes with each quantity, the staleness of reads, and
every quantity with its range and source. The stages of a batch overlap:

  GE   get embeddings        FC   forward computation
  DS   dense synchronization BC   backward computation
  PEG  put embedding gradients

Without arguments: hybrid on 8 GPUs, otherwise as "sim" without arguments.
` + common

const runExamples = `  go run ./cmd/sim run
  go run ./cmd/sim run --mode sync --gpus 64 --cluster gcp
  go run ./cmd/sim run --file cmd/train/jobs/frappe.yaml --json
  go run ./cmd/sim run --mode hybrid --gpus 64 --staleness-trace trace.txt`

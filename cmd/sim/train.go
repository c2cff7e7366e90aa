package main

const trainUsage = `Train a job for real, under simulated time: real rows, gradients and AUC, at the
seconds that the cluster would take.

Without a job file that is the census data on 4 GPUs, in sync and hybrid. The
result depends neither on this machine nor on --workers, to the bit. With
--spread every training is done three times: at the middle of the ranges of
hardware, and at both ends.
` + common

const trainExamples = `  go run ./cmd/sim train
  go run ./cmd/sim train --target-auc 0.88 --dollars-per-gpu-hour 2.5
  go run ./cmd/sim train --modes hybrid --gpus 64 --batch-per-gpu 32
  go run ./cmd/sim train --file cmd/train/jobs/frappe.yaml --spread --json`

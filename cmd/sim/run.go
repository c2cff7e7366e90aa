package main

const runUsage = `Predict one mode on one number of GPUs, and show what the prediction rests on.

The report has the throughput with its interval over what is not known and over
seeds, the time of a step and of its parts, what bounds it by share of the
critical path, the cost, how much a better part would change, and the staleness
of reads. --effects ranks the unknowns, and --parameters lists every quantity
with its range and source. --json prints all figures; those that do not apply
are null.

Presets fix their number of GPUs, batch and staleness. Without arguments: hybrid
on the 8 GPUs of persia-paper.
` + common

const runExamples = `  go run ./cmd/sim run
  go run ./cmd/sim run --preset persia-gcp --mode sync --json
  go run ./cmd/sim run --preset dgx-h100 --model mlperf-dcnv2 --gpus 64 \
      --global-batch 55296
  go run ./cmd/sim run --preset persia-gcp --set embedding-ps.count=50 \
      --row-precision fp32
  go run ./cmd/sim run --file cmd/train/jobs/frappe.yaml --json
  go run ./cmd/sim run --gpus 64 --staleness-trace trace.txt`

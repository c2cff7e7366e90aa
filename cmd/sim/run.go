package main

const runUsage = `Predict one mode on one number of GPUs, and show what the prediction rests on.

The report has the throughput with its interval over what is not known and over
seeds, the time of a step and of its parts, what bounds it by share of the
critical path, the cost, how much a better part would change, and the staleness
of reads. --effects ranks the unknowns, and --parameters lists every quantity
with its range and source. Of a job file with rows on GPUs, of all slots or of
some, it has the memory and the load of a GPU, and what the GPUs exchange in a
step.

--json prints one object; keys that do not apply are null. The unit of a number
is in its key, but for these:
  throughput_interval      [low, high] in samples/s, over what is not known
  throughput_ci95          [low, high] in samples/s, over seeds
  step_time_ms, stage_ms   objects of times: mean, p50, p99; ge, fc, bc, ds, peg
  placement                of tables: layout, parts, tier, and ranks of parts
  parts_ms                 parts of a step graph: time alone and critical
  staleness                batches that reads of the own rank miss
  scaling_efficiency       share of the throughput per GPU on scaling_base_gpus
  stations                 busy: share of the time; queue: mean number waiting
  bottlenecks              resource, and its share of the critical path
  effects, sensitivities   share of the interval; relative change by a tenth
  parameters               low, value and high in unit, with kind and source
  events                   of the simulation, which took wall_s
  simulated_gpus           of more than 512 that are alike; they stand for all
Others: valid, error, job, mode, system, gpus, global_batch, samples, seed,
throughput_samples_per_s, cost_usd_per_hour, cost_usd_per_billion_samples,
memory_bytes, drift, unsettled, messages_per_step, bytes_per_step,
mode_settings, faults, notes, hot_rows, gpu_rows, peak_rss_bytes, and reproduce,
the command.

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

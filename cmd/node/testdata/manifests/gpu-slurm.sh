#!/usr/bin/env bash
# gpu: a run of Tandem under Slurm, made by `node manifests`.
#
#	sbatch --requeue this-file
#
# It needs the program node on PATH, and a folder that all machines share: $PWD, for the job file and the
# checkpoints. A run that is preempted, or ends early, is queued again and continues with its latest model. A
# process that dies is not started again: the run goes on without it, if its mode can.
#SBATCH --job-name=gpu
#SBATCH --signal=TERM@600
#SBATCH --ntasks=1 --cpus-per-task=2 --mem-per-cpu=2048M
#SBATCH hetjob
#SBATCH --ntasks=1 --cpus-per-task=2 --mem-per-cpu=2048M
#SBATCH hetjob
#SBATCH --ntasks=1 --cpus-per-task=2 --mem-per-cpu=2048M
#SBATCH hetjob
#SBATCH --ntasks=2 --cpus-per-task=4 --mem-per-cpu=4096M
#SBATCH hetjob
#SBATCH --ntasks=2 --cpus-per-task=4 --mem-per-cpu=2048M --gpus-per-task=1
set -euo pipefail

cat > gpu.job.yaml <<'JOB'
name: gpu
data:
    kind: synthetic
    synthetic:
        seed: 0
        train-rows: 6000
        test-rows: 50
        columns:
            - name: id
              cardinality: 500
              zipf: 1.1
model:
    kind: feed-forward
    embedding-dim: 8
    factors: 8
    sparse-tower: null
    dense-tower: null
    bottom:
        - 64
    top:
        - 32
    cross-layers: 3
    structure: stacked
    rank: 0
    activation: relu
    batch-norm: false
    heads: []
    optimizer:
        kind: adam
        rate: 0.001
        order: after
        epsilon: 1e-08
        initial-accumulator: 0
        beta1: 0.9
        beta2: 0.999
        schedule:
            warm-up: 0
            decay: none
            steps: 0
            factor: 0
        clip-norm: 0
    precision: fp32
    device: cuda
rows:
    optimizer:
        kind: adagrad
        rate: 0.01
        order: before
        epsilon: 1e-10
        initial-accumulator: 0.01
        beta1: 0.9
        beta2: 0.999
        beta: 1
        l1: 0
        l2: 0
        schedule:
            warm-up: 0
            decay: none
            steps: 0
            factor: 0
        weight-bound: 10
    init: 0.01
    admission: 0
    capacity: 0
    memory: 0B
    eviction: refuse
    precision: fp32
training:
    mode: sync
    global-batch: 20
    epochs: 1
    shuffle: true
    shuffle-window: 0
    groups: 4
    staleness: null
    prefetch: 0
    mode-settings: {}
    overlap: ""
    merge: ""
    scale: global
    delay: none
    delay-dense: none
    evaluate-every: never
    seed: 1
roles:
    ranks: 2
    embedding-workers: 1
    embedding-ps: 2
    dense-ps: 1
    placement: apart
wire:
    precision: fp32
    index: raw
    all-reduce: nccl-tree
    retry: 0ns
faults:
    seed: 0
    drop: 0
    duplicate: 0
    reorder: 0
    delay:
        rate: 0
        max: 0ns
    crashes: []
cluster:
    preset: persia-paper
    gpus: 8
    accelerator: V100-SXM2-32GB
    accelerators-per-server: 8
    inside: nvlink2-off
    host-link: pcie3-x16
    server: xeon-52-core-480gb
    network: ethernet-100g
    embedding-workers:
        profile: xeon-52-core-480gb
        count: 40
        per-host: 1
        count-low: 20
        count-high: 60
    embedding-ps:
        profile: xeon-52-core-480gb
        count: 50
        per-host: 1
        count-low: 30
        count-high: 70
    loaders:
        profile: xeon-52-core-480gb
        count: 10
        per-host: 1
        count-low: 5
        count-high: 20
    system: persia-2021
    model: criteo
    source: 'Persia (Lian et al., KDD 2022): 100 CPU instances in all; their split among roles, and the hosts of the GPUs, are not published'
JOB
file=$PWD/gpu.job.yaml
host=$(hostname -f)
# Processes know each other by these certificates, which only this user can read.
node cert --file "$file" --run gpu --out "$PWD/gpu.tls" > /dev/null

srun --het-group=0 --kill-on-bad-exit=0 bash -c '
	exec node host --listen "$(hostname -f):7300" --checkpoints "$PWD/checkpoints" \
		--checkpoint-every "10m" --tls "$PWD/gpu.tls" --file "$0"
' "$file" "$host" &
srun --het-group=1 --kill-on-bad-exit=0 bash -c '
	exec node data-loader --index 0 --listen "$(hostname -f):0" --host "$1:7300" --wait 10m \
		--tls "$PWD/gpu.tls" --file "$0"
' "$file" "$host" &
srun --het-group=2 --kill-on-bad-exit=0 bash -c '
	exec node embedding-worker --index 0 --listen "$(hostname -f):0" --host "$1:7300" --wait 10m \
		--tls "$PWD/gpu.tls" --file "$0"
' "$file" "$host" &
srun --het-group=3 --kill-on-bad-exit=0 bash -c '
	exec node embedding-ps --index $SLURM_PROCID --listen "$(hostname -f):0" --host "$1:7300" --wait 10m \
		--tls "$PWD/gpu.tls" --file "$0"
' "$file" "$host" &
srun --het-group=4 --kill-on-bad-exit=0 bash -c '
	exec node nn-worker --index $SLURM_PROCID --listen "$(hostname -f):0" --host "$1:7300" --wait 10m \
		--tls "$PWD/gpu.tls" --file "$0"
' "$file" "$host" &

# The end of every process is awaited; that of the host, which is the first, decides.
status=0
wait %1 || status=$?
wait
if ((status != 0 && ${SLURM_RESTART_COUNT:-0} < 20)); then
	exec scontrol requeue "$SLURM_JOB_ID" # it continues with its latest model
fi
exit $status

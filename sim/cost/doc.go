// Package cost prices the work and the messages of a training job on a cluster.
//
// Hardware is a cluster with the profiles of its devices: Load makes it of the section cluster of a job file,
// ThisMachine of measurements of one machine. Its quantities have ranges; Resolve takes all of them at one
// position. Prices combine hardware at one position with a job, its network and a Workload, which describes
// the data in numbers: how many ids and distinct rows samples have. They say how long each kind of work takes
// and what it uses, as if nothing else ran; tandem/sim/cluster lets the work compete.
//
// # What is priced, and on what
//
//   - Work of embedding workers, PSs and the data loader uses core time and memory time of its host
//     (device.HostCost).
//
//   - Forward, backward and the dense optimizer are kernels on the accelerator of the rank, by the roofline
//     model (device.Accelerator).
//
//   - Where rows are hot (job.Rows.Hot), every rank has them beside its dense network: kernels gather and
//     pool them, merge their gradients and take their optimizer step, in the memory of the accelerator. Their
//     number follows from the popularity of a model, or from counting the data of a job. That accelerators
//     do it is an assumption: algo/exec does it on the host.
//
//   - Where rows are on GPUs (job.RowsOnGPU), the kernels of tandem/runtime/cuda are priced one by one, with
//     the exchanges between ranks (GPURows). EWs and PSs have next to nothing to do. If slots differ in
//     where their rows are, each side has the prices of its slots (Workload.OnPSs, OnGPUs), and both that of
//     moving pooled values to their places among all.
//
//   - On a measured machine, work that was recorded costs its recorded time instead (RecordedTimes).
package cost

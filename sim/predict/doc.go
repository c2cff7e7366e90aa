// Package predict predicts the throughput of a training job on a cluster, with the interval that follows from
// what is not known, and says which unknowns matter most.
//
// A Job is a training job with a cluster, its system software and a model. Run simulates the job at the
// middle of the box of unknowns, at both ends, and at sampled points.
//
// # Two kinds of systems
//
// The architecture of the system software decides how a job is simulated:
//
//   - Roles: package sim/cluster runs the state machines of package role in virtual time. Package sim/cost
//     prices their work as hardware × system software × model. The system says how much core time and how
//     many dependent misses a row takes, the host how fast its cores are and how long a miss takes in a table
//     of that size, the model how many rows a batch has.
//   - Step graphs: systems that keep the tables on the accelerators have no roles. Package sim/graph builds a
//     step from the model and a placement of its tables: kernels, copies and collectives on streams.
//
// Both use the same devices, the topology of sim/topo and the flows of sim/fabric, which share links max-min
// fairly. Every place where work waits is a station, and one registry reports use and queues.
//
// # Intervals
//
// What is not known is a range, never a bare number. All ranges together span a box of named parameters
// (sim/param), which are found by the YAML keys of the profiles, such as embedding-ps.memory-latency. A
// prediction is the run at the middle of the box or, of a step graph, at the sampled point with the median
// throughput. Its interval holds the central 98 % of the runs at sampled points, with the error that earlier
// predictions had where the system's profile has an Accuracy. The spread over seeds, which stands for jitter,
// is kept apart.
//
// A calibration of the system software (system.Calibration) replaces the ranges of its quantities by those
// that its points span. The middle is the first point. Sampled points take the calibrated
// quantities together from one point of the calibration, because measured steps often fix a sum of two costs
// better than either.
//
// All predictions sample the same points. Ratios of modes, which share their hardware, therefore have
// narrower intervals than either. The price: the points are not independent evidence.
//
// # Bottlenecks
//
// The bottlenecks of a run are the resources on its critical path. The simulator remembers what every
// activity waited for, and walks back from the end of the last measured step. Resources are groups of
// parameters, the group tags of the profiles, so each can be doubled (Job.Improved).
//
// # Decisions
//
//   - Another accelerator brings its own wires. Otherwise an A100 in the place of a V100 kept the disabled
//     NVLink of its servers, and looked 12 times slower than it is. Hosts and network stay, which a note
//     says.
package predict

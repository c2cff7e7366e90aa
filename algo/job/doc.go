// Package job is the job file: what is trained, on which data, by how many of each role, and on which
// simulated cluster. Simulator, runtime, notebooks and programs of a user's own read the same files.
//
// Load reads a file into a Job, whose fields are the sections of the file. Default and AdultIncome return
// jobs to start from in a program, and Validate reports the first setting that is out of range. Package
// datasets opens Job.Data; package sim/cluster turns Job.Cluster into hardware.
//
// Reading is strict. An unknown key is an error that names the nearest known key, or the new name of a key
// that has moved. A value of the wrong type is an error that names its place. A key that is given twice, an
// anchor and an alias are refused: a job file says what it means from top to bottom. A file holds only
// differences from the defaults.
//
// # Decisions
//
//   - A job is plain types. Package datasets opens the section data, the simulator converts the section
//     cluster. So reading a job links no data format, simulator or runtime. In return, a kind of data set is
//     listed here and opened there.
//   - The window follows from τ: staleness sets τ + 1 batches in flight, and prefetch may be larger but not
//     smaller, because a smaller window would silently lower the bound. Job.Depth is what runs and what
//     reports print.
//   - A cluster begins with a preset, whose settings the file replaces one by one, so a file has only what
//     differs. A wrong key or a zero is still an error. The price: reading a job file reads the preset first.
//   - The decoder is our own, over the nodes of yaml.v3, and so is the edit distance. KnownFields of yaml.v3
//     names neither the path of a field nor the nearest key, and cobra does not export its edit distance.
package job

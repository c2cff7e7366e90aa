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
package job

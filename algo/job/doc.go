// Package job says what a training is (Job), the same for simulator and
// runtime, and reads the YAML file that describes a job (Decode) into that and
// into what others define.
//
// Reading is strict. An unknown key is an error that names the nearest known
// key, a value of the wrong type is an error that names its place, and a key
// given twice, an anchor or an alias is refused: a job file says what it means
// from top to bottom. A file holds only differences: what it does not mention
// keeps the value that the destination had before.
package job

// Package param is the flat list of all named parameters of a simulation.
//
// Profiles of hardware and system software are structs of quantities (quantity.Value). Collect finds the
// quantities of such structs by the names of their YAML keys: a Vector. Everything that changes a parameter
// writes to the vector, and so to the structs: a preset that is loaded, a value that the user sets, a sample
// of the box that all ranges span, an improvement whose effect is measured.
package param

// Package device prices work on hardware: what a kernel costs on an accelerator, a row lookup on a host, a
// collective operation over wires. Package station lets the work compete.
//
// The numbers come from profiles of hardware, one YAML file each. Every number states its source and how sure
// it is (tandem/algo/quantity). An unknown number is a range that was fixed before any comparison. Resolve
// turns a profile into a device at one position of all its ranges.
package device

// Package device prices work on hardware: what a kernel costs on an accelerator, from rooflines
// (Accelerator.Time), waves of tiles (MatMul) and bytes of rows (Embedding); what an access to a table of a
// size costs on a host (Host.Access), and rows and copies (RowCost, CopyCost); and what a message costs on a
// wire. Package station lets the work compete, and package topo plans collective operations.
//
// The numbers come from profiles of hardware, one YAML file each. Every number states its source and how sure
// it is (tandem/algo/quantity). An unknown number is a range that was fixed before any comparison. Resolve
// turns a profile into a device at one position of all its ranges.
package device

// Package device prices work on hardware: kernels on an accelerator, accesses on a host, and messages on a
// wire. A kernel costs what its roofline says (Accelerator.Time), a matrix product its waves of tiles, an
// embedding kernel the bytes of its rows. On a host, Host.Access is the cost of an access to a table of a
// size; RowCost and CopyCost are those of rows and copies. Package station lets the work compete, and package
// topo plans collective operations.
//
// The numbers come from profiles of hardware, one YAML file each. Every number states its source and how sure
// it is (tandem/algo/quantity). An unknown number is a range that was fixed before any comparison. Resolve
// turns a profile into a device at one position of all its ranges.
//
// # Decisions
//
//   - The size of a table enters the cost of a row by a law of caches, TLB and page walks (Host.Access). That
//     100 trillion parameters take flat time is then predicted, not assumed. There is one level of cache and
//     one of TLB.
//   - Under a hypervisor an entry of the TLB translates the smaller of both pages. On the machine where this
//     was measured, huge pages of the guest did not save walks.
//   - Rows of a measured machine wait by Host.RowTime. Lines that a batch asks for ahead overlap, and a
//     further group of the index costs a whole latency. The dependent access alone is five to ten times what
//     a row takes, and a fuller index (table.Displaced) alone adds up to 10 ns.
//   - Clusters keep the number of misses of their system software, because it is not known how many lines
//     their cores have in flight. Above 10⁸ rows the law is too low:
//     experiments/persia/README.md, capacity.
package device

// Package cache stores the decoded columns of data files, so that the next run maps them into
// memory instead of parsing text again. Package datasets uses it on its own; programs need it
// only to list or remove cache files.
//
// A Folder holds one cache file for each source and way of reading it. A cache file is valid
// only if its sources still have the same sizes, times and sampled content, it has this
// version of the format, and all of its checksums hold. Otherwise Load returns an error with
// the reason, and the caller reads the source again. Files appear whole, by renaming: no
// reader sees a partial file, and of several writers the last one wins, with the same content.
//
// # Format, version 1
//
// All numbers are little-endian.
//
//	bytes 0–15    "tandem columns\n" and one byte, the version
//	bytes 16–19   length of the header in bytes
//	bytes 20–23   CRC-32C of the header
//	from 24       the header: JSON, as type header
//
// The columns follow, each at a multiple of 64 bytes. The header lists their positions,
// lengths and CRC-32Cs. Each slot has its ids (8 bytes each) and, unless every row has exactly
// one, its offsets (rows + 1, 4 bytes each). Then come the dense values and the labels (IEEE
// 754, 4 bytes, row-major).
package cache

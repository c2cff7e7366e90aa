// Package cache keeps the columns of files that were read once, so that the next
// run maps them into memory instead of parsing text again.
//
// A Folder holds one file for each source and way of reading it. A cache file is
// believed only if its sources have the sizes, times and sampled content that
// they had, it has this version and all of its checksums hold; anything else is
// an error that says why, and the caller reads the source again. Files appear
// whole, by renaming: no reader sees half of one, and of several writers the
// last wins, with the same content.
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
// and then the columns, each at a multiple of 64 bytes that the header names with
// its length and CRC-32C: for each slot its ids (8 bytes each) and, unless every
// row has exactly one, its offsets (4 bytes, rows + 1 of them); the dense values
// and the labels (IEEE 754, 4 bytes, row-major).
package cache

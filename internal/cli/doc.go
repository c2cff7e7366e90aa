// Package cli holds what Tandem's commands share on the command line: how a cobra command is
// set up, usage errors, error messages with a hint and the exit code, notes, tables, a
// progress bar, results folders and the description of the machine. Every command has --version and
// "completion SHELL".
//
// A command returns its errors to main, which prints them with [PrintError]:
//
//	train: error: --ranks: 0; want at least 1
//	train: hint: see --help
//
// The exit code is 0 without an error, 1 if the work failed, and 2 for a [UsageError] or an
// unknown flag. Results go to stdout; errors, notes and the progress bar go to stderr.
package cli

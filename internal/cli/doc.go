// Package cli is what Tandem's commands share of their dealings with a
// person: tables, errors with a hint, a progress bar, the results folder and
// the description of the machine.
package cli

// Package damage damages the files of a folder in the ways of disks, of copies that were cut short and of
// people who mix up names, for tests that nothing damaged is believed.
package damage

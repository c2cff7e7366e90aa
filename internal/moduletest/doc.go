// Package moduletest has a program that takes the place of Python in tests of modules. It speaks the protocol
// of runtime/torch and computes a linear network, within milliseconds and without torch.
//
// A test that uses it calls Main first in its TestMain, and Use: the Python of a module is then the test's
// own program. The file and the class of a module are not read. Its arguments are a Fault.
package moduletest

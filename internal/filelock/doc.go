// Package filelock keeps a file or a folder for one process, where the system has locks that end with it.
package filelock

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tandem/internal/filelock"
)

// LockFolder keeps other processes that call it from a folder, which it makes, until it is unlocked or this
// process ends. The error wraps ErrInUse if another process has locked the folder.
//
// The file of the lock stays: a process that had opened it would otherwise lock a file without a name.
func LockFolder(folder string) (unlock func() error, err error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if filelock.Try(file) != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", folder, ErrInUse), file.Close())
	}
	return file.Close, nil
}

//go:build !linux

package moduletest

import "errors"

func serve() error { return errors.New("modules need the shared memory of Linux") }

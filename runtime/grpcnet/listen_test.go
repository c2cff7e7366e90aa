package grpcnet

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// A port that another process holds is named, with what to do, and so is an address that is none.
func TestListen(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	held := l.Addr().String()
	_, err = Listen(held)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "cannot listen on "+held) ||
		!strings.HasSuffix(err.Error(), "or choose another port") {
		t.Error(err)
	}
	if _, err := Listen("127.0.0.1:none"); err == nil || errors.Is(err, syscall.EADDRINUSE) ||
		!strings.HasPrefix(err.Error(), "cannot listen on 127.0.0.1:none: ") {
		t.Error(err)
	}
}

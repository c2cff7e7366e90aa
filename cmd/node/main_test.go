package main

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tandem/internal/cli/clitest"
	"tandem/runtime/blas"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"node": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The scripts in testdata run the command as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			listener, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
			e.Setenv(blas.Variable, os.Getenv(blas.Variable))
			e.Setenv("HOST", listener.Addr().String())
			// An S3 store, whose buckets are folders of the script.
			store := httptest.NewServer(http.FileServer(http.Dir(e.WorkDir)))
			e.Defer(store.Close)
			e.Setenv("AWS_ENDPOINT_URL", store.URL)
			e.Setenv("PLACED", "data-loader, nn-worker 1; nn-worker 0, embedding-ps, embedding-worker")
			return errors.Join(err, listener.Close())
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": clitest.Status},
	})
}

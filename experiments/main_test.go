package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tandem/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"experiments": func() { os.Exit(run(os.Args[1:])) }})
}

// The scripts in testdata run the command as a user would.
func TestScripts(t *testing.T) {
	commands := map[string]func(*testscript.TestScript, bool, []string){"status": clitest.Status}
	testscript.Run(t, testscript.Params{Dir: "testdata", Cmds: commands})
}

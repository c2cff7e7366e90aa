package script

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// fakeProgram is the environment variable that makes this program answer requests; its value is the kind of
// answers.
const fakeProgram = "TANDEM_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakeProgram); kind != "" {
		beFake(kind)
	}
	os.Exit(m.Run())
}

// beFake answers, then ends the process.
func beFake(kind string) {
	if kind == "no torch" {
		fmt.Fprint(os.Stderr, "Traceback (most recent call last):\n  File \"<string>\", line 3\n"+
			"ModuleNotFoundError: No module named 'torch'\n")
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct{ Do string }
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			os.Exit(3)
		}
		switch request.Do + ", " + kind {
		case "run, dies":
			fmt.Fprintln(os.Stderr, "out of memory\nKilled")
			os.Exit(9)
		case "run, hangs":
			time.Sleep(time.Hour)
		case "run, babbles":
			fmt.Println("Hello, world")
		case "run, talks":
			fmt.Printf("{\"seconds\": 0.5, \"version\": %q}\n", strings.Repeat("9", 1<<20))
		case "run, fails":
			fmt.Println(`{"error": "RuntimeError: no"}`)
		default:
			fmt.Println(`{"seconds": 0.25, "version": "9.9"}`)
		}
	}
	os.Exit(0)
}

// answer is a response of the fake program.
type answer struct {
	Seconds float64
	Version string
}

// startFake starts a program with answers of a kind.
func startFake(t *testing.T, kind string, timeout time.Duration) (*Process, error) {
	t.Helper()
	t.Setenv(fakeProgram, kind)
	var hello answer
	p, err := Start(t.Context(), Options{Name: "PyTorch", Env: os.Environ(), HelloTimeout: 20 * time.Second,
		Timeout: timeout}, &hello, os.Args[0])
	if err == nil && hello.Version != "9.9" {
		t.Errorf("hello %v", hello)
	}
	return p, err
}

// A program answers, ends with Close, and can be asked further after an error of its own.
func TestProcess(t *testing.T) {
	p, err := startFake(t, "fails", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var failure *Failure
	if err := p.Request(t.Context(), "run", nil, &answer{}); !errors.As(err, &failure) ||
		failure.Text != "RuntimeError: no" {
		t.Errorf("error %v", err)
	}
	var got answer
	if err := p.Request(t.Context(), "close", nil, &got); err != nil || got.Seconds != 0.25 {
		t.Errorf("%v, error %v", got, err)
	}
	p.Close()
	if !p.command.ProcessState.Success() {
		t.Errorf("ended with %v", p.command.ProcessState)
	}
}

// The failure of a program is an error of one line.
func TestFailures(t *testing.T) {
	for kind, want := range map[string]string{
		"dies":    `PyTorch's process ended (exit status 9) before it responded to "run"; stderr: Killed`,
		"hangs":   `PyTorch did not respond to "run" within 100ms and was stopped`,
		"babbles": `PyTorch's response to "run" is not a JSON object: "Hello, world"`,
		"fails":   `PyTorch failed in "run": RuntimeError: no`,
	} {
		timeout := time.Minute
		if kind == "hangs" {
			timeout = 100 * time.Millisecond
		}
		p, err := startFake(t, kind, timeout)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Request(t.Context(), "run", nil, &answer{}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nwant %s", kind, err, want)
		}
		p.exitTimeout = 0 // the program that hangs does not read its input
		p.Close()
	}
}

// A response of a megabyte is read.
func TestLongResponse(t *testing.T) {
	p, err := startFake(t, "talks", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.exitTimeout = 0
	var got answer
	if err := p.Request(t.Context(), "run", nil, &got); err != nil || len(got.Version) != 1<<20 {
		t.Errorf("%d bytes, error %v", len(got.Version), err)
	}
}

// A process that has ended says how at every later request.
func TestRequestsAfterTheEnd(t *testing.T) {
	p, err := startFake(t, "dies", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, do := range []string{"run", "open", "open"} {
		want := fmt.Sprintf("PyTorch's process ended (exit status 9) before it responded to %q; "+
			"stderr: Killed", do)
		if err := p.Request(t.Context(), do, nil, &answer{}); err == nil || err.Error() != want {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}

// A Python interpreter that does not exist, or has no torch.
func TestAbsent(t *testing.T) {
	_, err := Start(t.Context(), Options{Name: "PyTorch"}, &answer{}, "no-such-python")
	if err == nil || err.Error() != `there is no Python interpreter "no-such-python"` {
		t.Errorf("error %v", err)
	}
	if _, err := startFake(t, "no torch", time.Minute); err == nil ||
		!strings.HasSuffix(err.Error(), " has no module torch") {
		t.Errorf("error %v", err)
	}
}

// The end of a context ends the wait and the process.
func TestStopsWithItsContext(t *testing.T) {
	t.Setenv(fakeProgram, "hangs")
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, Options{Name: "PyTorch", Env: os.Environ(), HelloTimeout: time.Minute,
		Timeout: time.Minute}, &answer{}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := p.Request(ctx, "run", nil, &answer{}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	p.Close()
}

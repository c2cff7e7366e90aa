package speed

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// fakePeer is the environment variable that makes this program a peer; its value is the kind of peer.
const fakePeer = "TANDEM_TEST_PEER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakePeer); kind != "" {
		beFake(kind)
	}
	os.Exit(m.Run())
}

// beFake responds as a peer of a kind, then ends the process.
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
		case "run, fails":
			fmt.Println(`{"error": "RuntimeError: no"}`)
		default:
			fmt.Println(map[string]string{
				"hello": `{"torch": "9.9", "blas": "open", "capability": "AVX512", "python": "3.9",` +
					` "openblas_coretype": "SkylakeX"}`,
				"open": `{"check": 1e9}`, "run": `{"seconds": 0.25}`, "close": "{}",
			}[request.Do])
		}
	}
	os.Exit(0)
}

// startFake starts a peer of a kind.
func startFake(t *testing.T, kind string) (*peer, error) {
	t.Helper()
	t.Setenv(fakePeer, kind)
	return startScript(t.Context(), "PyTorch", 20*time.Second, os.Args[0])
}

// A run of the protocol, and the description of a peer.
func TestPeer(t *testing.T) {
	p, err := startFake(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const want = "PyTorch 9.9 (BLAS open, own kernels AVX512, Python 3.9), OPENBLAS_CORETYPE=SkylakeX"
	if got := p.about.String(); got != want {
		t.Errorf("about %q, want %q", got, want)
	}
	c, err := newPrepared(testCase{Kind: kindDense})
	if err != nil {
		t.Fatal(err)
	}
	defer c.remove()
	if first, err := p.open(t.Context(), c); err != nil || first.Check != 1e9 {
		t.Errorf("opened with %v, error %v", first, err)
	}
	if took, err := p.run(t.Context(), 7); err != nil || took != 250*time.Millisecond {
		t.Errorf("ran for %v, error %v", took, err)
	}
	if err := p.close(t.Context()); err != nil {
		t.Error(err)
	}
	p.Close()
	if !p.command.ProcessState.Success() {
		t.Errorf("ended with %v", p.command.ProcessState)
	}
}

// The failure of a peer is an error of one line.
func TestFailuresOfPeers(t *testing.T) {
	for kind, want := range map[string]string{
		"dies":    `PyTorch's process ended (exit status 9) before it responded to "run"; stderr: Killed`,
		"hangs":   `PyTorch did not respond to "run" within 100ms and was stopped`,
		"babbles": `PyTorch's response to "run" is not a JSON object: "Hello, world"`,
		"fails":   `PyTorch failed in "run": RuntimeError: no`,
	} {
		p, err := startFake(t, kind)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "hangs" {
			p.timeout = 100 * time.Millisecond
		}
		if _, err := p.run(t.Context(), 1); err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nwant %s", kind, err, want)
		}
		p.exitTimeout = 0 // the peer that hangs does not read its input
		p.Close()
	}
}

// A Python interpreter that does not exist, or has no torch.
func TestNoPeer(t *testing.T) {
	_, err := startPeer(t.Context(), "no-such-python")
	if err == nil || err.Error() != `there is no Python interpreter "no-such-python"` {
		t.Errorf("error %v", err)
	}
	if _, err := startFake(t, "no torch"); err == nil ||
		!strings.HasSuffix(err.Error(), " has no module torch") {
		t.Errorf("error %v", err)
	}
}

// The end of a context ends the wait and the process.
func TestPeerStopsWithItsContext(t *testing.T) {
	t.Setenv(fakePeer, "hangs")
	ctx, cancel := context.WithCancel(t.Context())
	p, err := startScript(ctx, "PyTorch", time.Minute, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := p.run(ctx, 1); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	p.Close()
}

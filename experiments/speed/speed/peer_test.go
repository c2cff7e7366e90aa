package speed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/script"
)

// fakePeer is the environment variable that makes this program a peer.
const fakePeer = "TANDEM_TEST_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(fakePeer) != "" {
		beFake()
	}
	os.Exit(m.Run())
}

// beFake responds as a peer, then ends the process.
func beFake() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct{ Do string }
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			os.Exit(3)
		}
		fmt.Println(map[string]string{
			"hello": `{"torch": "9.9", "blas": "open", "capability": "AVX512", "python": "3.9",` +
				` "fused": true, "openblas_coretype": "SkylakeX"}`,
			"open": `{"check": 1e9}`, "run": `{"seconds": 0.25}`, "close": "{}",
		}[request.Do])
	}
	os.Exit(0)
}

// startFake starts a peer that does no work.
func startFake(t *testing.T) (peer, error) {
	t.Helper()
	t.Setenv(fakePeer, "1")
	p := peer{&pytorch.Peer{}}
	var err error
	p.Process, err = script.Start(t.Context(), script.Options{Name: "PyTorch", Env: os.Environ(),
		HelloTimeout: 20 * time.Second, Timeout: time.Minute}, &p.About, os.Args[0])
	return p, err
}

// A run of the protocol, and the description of a peer.
func TestPeer(t *testing.T) {
	p, err := startFake(t)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const want = "PyTorch 9.9 (BLAS open, own kernels AVX512, Python 3.9), OPENBLAS_CORETYPE=SkylakeX, " +
		"Adam fused"
	if got := p.About.String(); got != want {
		t.Errorf("about %q, want %q", got, want)
	}
	c, err := prepare(smallPlan().Cases[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.remove()
	if check, err := p.open(t.Context(), c); err != nil || check != 1e9 {
		t.Errorf("opened with %v, error %v", check, err)
	}
	if took, err := p.Run(t.Context(), 7); err != nil || took != 250*time.Millisecond {
		t.Errorf("ran for %v, error %v", took, err)
	}
	if err := p.close(t.Context()); err != nil {
		t.Error(err)
	}
}

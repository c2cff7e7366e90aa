package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/internal/cli/clitest"
	"tandem/runtime/identity"
	"tandem/runtime/member"
)

// certify runs node cert for a job.
func certify(t *testing.T, file, run, out string) {
	t.Helper()
	var said clitest.Buffer
	if code := runCommand(&said, "cert", "--file", file, "--run", run, "--out", out); code != 0 {
		t.Fatal(said.String())
	}
}

func runCommand(output io.Writer, args ...string) int { return run(args, output, output) }

// knock opens a connection to an address as the owner of a certificate, or of none if the folder is "", and
// waits until it is closed. It returns the number of the certificate that it is shown, or "".
func knock(t *testing.T, address, folder string) (shown string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "" // the run has ended
	}
	defer c.Close()
	config := &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		shown = s.PeerCertificates[0].SerialNumber.String()
		return nil
	}}
	if folder != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = append(config.Certificates, pair)
	}
	_ = tls.Client(c, config).Handshake() // the other end may refuse it
	_, _ = io.Copy(io.Discard, c)
	return shown
}

// refusedBy waits for the metrics of a host, and returns how often it has refused something, by reason.
func refusedBy(t *testing.T, host *node) map[string]string {
	t.Helper()
	found := regexp.MustCompile(`metrics are at (\S+)`).FindStringSubmatch(host.stderr.String())
	response, err := http.Get(found[1])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	for _, m := range regexp.MustCompile(`tandem_refused_total{reason="(.*)"} (\d+)`).
		FindAllStringSubmatch(string(text), -1) {
		counts[m[1]] = m[2]
	}
	return counts
}

// await waits until a process has said something.
func (n *node) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(awaitTimeout); !strings.Contains(n.stderr.String(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("it has not said %q but\n%s", text, n.stderr.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Strangers without a certificate, with one of another run, of another role, and with one that has expired
// are refused by the host and by a PS. They are named in the log and counted in the metrics. The certificates
// are replaced meanwhile, and the new ones used. The run ends with the bits of one without all this.
func TestStrangersDoNotDisturbARun(t *testing.T) {
	folder := t.TempDir()
	file, own := filepath.Join(folder, "job.yaml"), filepath.Join(folder, "own")
	if err := os.WriteFile(file, []byte(drainedJob), 0o644); err != nil {
		t.Fatal(err)
	}
	dense, rows := digests(t, startCluster(t, file))
	certify(t, file, "clicks", own)
	certify(t, file, "other", filepath.Join(folder, "other"))
	authority, err := identity.KeepAuthority(own, "clicks")
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, "old")
	rank := job.Process{{Role: msg.NNWorker}}
	if _, err := authority.Write(old, []job.Process{rank}, -time.Minute); err != nil {
		t.Fatal(err)
	}
	address, server := freeAddress(t), freeAddress(t)
	all := map[string]*node{"host": startNode(t, "host", "--file", file, "--tls", own, "--listen", address,
		"--metrics-address", "127.0.0.1:0")}
	start := func(role, index, listen string) {
		all[role+" "+index] = startNode(t, role, "--index", index, "--file", file, "--tls", own, "--host",
			address, "--wait", "1m", "--listen", listen)
	}
	start("embedding-ps", "0", server)
	all["host"].await(t, "5 more; next:") // so both listen
	strangers := func(at string) (shown string) {
		knock(t, at, "")
		knock(t, at, filepath.Join(old, "nn-worker"))
		return knock(t, at, filepath.Join(folder, "other", "nn-worker"))
	}
	first := strangers(address)
	strangers(server)
	forger, err := identity.Open(own, []msg.Address{{Role: msg.EmbeddingPS}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := member.Join(t.Context(), address, member.Hello{Process: rank, Address: "127.0.0.1:9",
		Identity: forger}, awaitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Welcome()
	if err = m.Leave(err); err == nil ||
		!strings.Contains(err.Error(), "nn-worker 0 has the certificate of") {
		t.Errorf("a PS as a rank: %v", err)
	}
	counts := fmt.Sprint(refusedBy(t, all["host"]))
	if counts != "map[expired:1 handshake:1 other role:1 untrusted:1]" {
		t.Errorf("counted: %s", counts)
	}
	for _, by := range []*node{all["host"], all["embedding-ps 0"]} {
		for _, want := range []string{": tls: client didn't provide a certificate",
			": the certificate of tandem://clicks/nn-worker is valid from ",
			": the certificate of tandem://other/nn-worker is not accepted: "} {
			if !strings.Contains(by.stderr.String(), want) {
				t.Errorf("%q is missing in\n%s", want, by.stderr.String())
			}
		}
	}
	certify(t, file, "clicks", own)
	for deadline := time.Now().Add(awaitTimeout); ; time.Sleep(100 * time.Millisecond) {
		again := knock(t, address, "")
		if again != first && again != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the host shows certificate %q, before its renewal %s", again, first)
		}
	}
	start("embedding-ps", "1", "127.0.0.1:0")
	for _, role := range []string{"data-loader", "embedding-worker", "nn-worker"} {
		start(role, "0", "127.0.0.1:0")
	}
	start("nn-worker", "1", "127.0.0.1:0")
	awaitSteps(t, all["host"], 5)
	strangers(server)
	strangers(address)
	if gotDense, gotRows := digests(t, all); gotDense != dense || gotRows != rows {
		t.Errorf("network %s, rows %s; without strangers %s, %s", gotDense, gotRows, dense, rows)
	}
}

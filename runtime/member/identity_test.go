package member

import (
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/identity"
)

// certified makes certificates for the processes of the tests' run, as a run with a name.
func certified(t *testing.T, name string, valid time.Duration) (folder string) {
	t.Helper()
	folder = t.TempDir()
	authority, err := identity.NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := authority.Write(folder, []job.Process{{loader}, {server}, {trainer}}, valid); err != nil {
		t.Fatal(err)
	}
	return folder
}

// identityOf opens the certificate of some roles; that of the host if there are none.
func identityOf(t *testing.T, folder string, roles ...msg.Address) *identity.Identity {
	t.Helper()
	own, err := identity.Open(folder, roles, nil)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// knock opens a connection to an address with a certificate, and waits until it is closed.
func knock(t *testing.T, address, folder string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, // and the other end may refuse it
		Certificates: []tls.Certificate{pair}}).Handshake()
	_, _ = io.Copy(io.Discard, c)
}

// trains makes the processes of the run, with their certificates, join the host at an address, and train.
func (r *run) trains(t *testing.T, address, folder string) {
	t.Helper()
	left := make(chan error, 3)
	for _, at := range []msg.Address{loader, server, trainer} {
		hello := Hello{Process: job.Process{at}, Address: ":100" + string(rune('0'+at.Role)), Job: ours,
			Identity: identityOf(t, folder, at)}
		if at == loader {
			hello.Data = data
		}
		m, err := Join(t.Context(), address, hello, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := m.Welcome(); err != nil {
				left <- err
				return
			}
			left <- play(at, m)
		}()
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	r.host.Close(nil)
	for range 3 {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
}

// A host with a certificate refuses processes without one of its run or of their role, logs them and counts
// them by kind. The processes of the run join and train.
func TestStrangersDoNotJoin(t *testing.T) {
	folder := certified(t, "clicks", time.Hour)
	var mu sync.Mutex
	counts, lines := map[string]int{}, ""
	r := start(t, func(p *Plan) {
		p.Identity = identityOf(t, folder)
		p.Refused = func(kind string) {
			mu.Lock()
			defer mu.Unlock()
			counts[kind]++
		}
		p.Log = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines += line + "\n"
		}
	})
	knock(t, r.address, filepath.Join(certified(t, "clicks", time.Hour), "nn-worker"))
	knock(t, r.address, filepath.Join(certified(t, "clicks", -time.Minute), "nn-worker"))
	forger, err := Join(t.Context(), r.address, Hello{Process: job.Process{trainer}, Address: ":1003",
		Identity: identityOf(t, folder, server)}, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, err = forger.Welcome()
	if err = forger.Leave(err); err == nil ||
		!strings.Contains(err.Error(), "nn-worker 0 has the certificate of tandem://clicks/embedding-ps") {
		t.Error(err)
	}
	if _, err := Join(t.Context(), r.address, Hello{Process: job.Process{server}, Job: ours},
		100*time.Millisecond); err == nil {
		t.Error("a process without a certificate has joined")
	}
	r.trains(t, r.address, folder)
	mu.Lock()
	defer mu.Unlock()
	if counts["untrusted"] != 1 || counts["expired"] != 1 || counts["other role"] != 1 {
		t.Errorf("counted: %v", counts)
	}
	for _, want := range []string{
		"refused a process on 127.0.0.1: the certificate of tandem://clicks/nn-worker is not accepted",
		"refused a process on 127.0.0.1: the certificate of tandem://clicks/nn-worker is valid from",
		"refused a process on 127.0.0.1: nn-worker 0 has the certificate of tandem://clicks/embedding-ps",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no line says %q:\n%s", want, lines)
		}
	}
}

// A process with a certificate joins only the host of its run.
func TestOnlyTheHostOfTheRunIsJoined(t *testing.T) {
	folder := certified(t, "clicks", time.Hour)
	for own, want := range map[*identity.Identity]string{
		identityOf(t, certified(t, "other", time.Hour)): "certificate of tandem://other/host is not accepted",
		identityOf(t, folder, server): "the host has the certificate of " +
			"tandem://clicks/embedding-ps",
		nil: "first record does not look like a TLS handshake",
	} {
		r := start(t, func(p *Plan) { p.Identity = own })
		_, err := Join(t.Context(), r.address, Hello{Process: job.Process{trainer}, Job: ours,
			Identity: identityOf(t, folder, trainer)}, 20*time.Second)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		r.host.Close(nil)
	}
}

// A host whose connections are lost at first, as one that ends, or that serves as many as it can, is called
// again, with certificates as without.
func TestLostConnectionsAreTriedAgain(t *testing.T) {
	folder := certified(t, "clicks", time.Hour)
	r := start(t, func(p *Plan) { p.Identity = identityOf(t, folder) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for lost := 0; ; lost++ {
			from, err := l.Accept()
			if err != nil {
				return
			}
			if lost < 5 {
				_ = from.Close()
				continue
			}
			to, err := net.Dial("tcp", r.address)
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	r.trains(t, l.Addr().String(), folder)
}

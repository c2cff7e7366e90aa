package transport

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/runtime/identity"
	"tandem/runtime/wire"
)

// certified makes certificates of a run for the host, NN workers and embedding PSs.
func certified(t *testing.T, valid time.Duration) (folder string) {
	t.Helper()
	folder = t.TempDir()
	authority, err := identity.NewAuthority("clicks")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := authority.Write(folder, []job.Process{{worker(0)}, {{Role: msg.EmbeddingPS}}},
		valid); err != nil {
		t.Fatal(err)
	}
	return folder
}

// identityOf opens the certificate of a role.
func identityOf(t *testing.T, folder string, role msg.Address) *identity.Identity {
	t.Helper()
	own, err := identity.Open(folder, []msg.Address{role}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// secured makes endpoints of one NN worker each with certificates of one run, all connected with each other.
func secured(t *testing.T, folder string, mailboxes ...Handler) []*Endpoint {
	t.Helper()
	nodes := make([]*Endpoint, len(mailboxes))
	for i, h := range mailboxes {
		nodes[i] = listenAs(t, Options{Roles: []msg.Address{worker(i)}, Handler: h,
			Identity: identityOf(t, folder, worker(i))}, 0)
	}
	connect(t, nodes)
	return nodes
}

// Strangers are refused and counted by their reason, and the members of the run go on.
func TestStrangersToTheRun(t *testing.T) {
	overEach(t, func(t *testing.T) {
		mustLeaveNothing(t)
		folder, in := certified(t, time.Hour), newMailbox()
		nodes := secured(t, folder, in, newMailbox())
		good := undisturbed(t, nodes[1], in)
		stranger := func(name, folder string) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(folder, name, "tls.crt"),
				filepath.Join(folder, name, "tls.key"))
			if err != nil {
				t.Fatal(err)
			}
			c := dialRaw(t, nodes[0])
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, // and the other end may refuse it
				Certificates: []tls.Certificate{pair}}).Handshake()
			_, _ = io.Copy(io.Discard, c) // until the endpoint closes the connection
		}
		stranger("nn-worker", certified(t, time.Hour))
		stranger("nn-worker", certified(t, -time.Minute))
		plain := dialRaw(t, nodes[0])
		if _, err := io.WriteString(plain, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, plain) // as above
		half := dialRaw(t, nodes[0])
		if _, err := half.Write([]byte{22, 3, 1}); err != nil { // of a handshake
			t.Fatal(err)
		}
		_ = half.Close()
		forger := listenAs(t, Options{Roles: []msg.Address{worker(2)}, Handler: newMailbox(),
			Identity: identityOf(t, folder, msg.Address{Role: msg.EmbeddingPS})}, 0)
		defer forger.Abort()
		err := forger.Connect(t.Context(), map[msg.Address]string{worker(0): nodes[0].Address()})
		if err == nil || !strings.Contains(err.Error(), "nn-worker 2 has the certificate of") {
			t.Error(err)
		}
		for reason, want := range map[identity.Reason]int{identity.Untrusted: 1, identity.Expired: 1,
			identity.Handshake: 1, identity.OtherRole: 1} {
			if got := refusalsOf(nodes[0], wire.Reason(reason)); got != want {
				t.Errorf("%d refusals for %s, want %d", got, reason, want)
			}
		}
		deadline := time.Now().Add(10 * time.Second)
		for refusalsOf(nodes[0], wire.Introduced) == 0 {
			if time.Now().After(deadline) {
				t.Fatalf("after 10 s no refusal for %s", wire.Introduced)
			}
			time.Sleep(time.Millisecond)
		}
		if got := refusalsOf(nodes[0], wire.Inadmissible); got != 0 {
			t.Errorf("%d refusals of messages, and no message was sent", got)
		}
		good()
		closeAll(t, nodes)
	})
}

// An endpoint reaches only processes of its run and of the role that it wants. Those that refuse it, or do
// not use certificates, are named after a while.
func TestOnlyTheRunIsReached(t *testing.T) {
	t.Parallel()
	folder := certified(t, time.Hour)
	n := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox(),
		Identity: identityOf(t, folder, worker(0))}, 0)
	defer n.Abort()
	server := listenAs(t, Options{Roles: []msg.Address{worker(1)}, Handler: newMailbox(),
		Identity: identityOf(t, folder, msg.Address{Role: msg.EmbeddingPS})}, 0)
	defer server.Abort()
	plain := listen(t, 1, newMailbox())
	defer plain.Abort()
	var wait sync.WaitGroup
	for address, want := range map[string]string{
		server.Address(): "nn-worker 1 has the certificate of tandem://clicks/embedding-ps",
		plain.Address():  "first record does not look like a TLS handshake",
	} {
		wait.Go(func() {
			_, err := n.dial(t.Context(), address, []msg.Address{worker(1)})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	wait.Wait()
}

// relay passes a connection on, and keeps what was sent.
type relay struct {
	mu   sync.Mutex
	sent []byte
}

func (r *relay) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, b...)
	return len(b), nil
}

// listen accepts one connection, which it passes on to an address.
func (r *relay) listen(t *testing.T, to string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		in, err := l.Accept()
		if err != nil {
			return // the test has failed
		}
		defer in.Close()
		out, err := net.Dial("tcp", to)
		if err != nil {
			return // as above
		}
		defer out.Close()
		go func() { _, _ = io.Copy(in, out) }() // until the connection ends
		_, _ = io.Copy(io.MultiWriter(r, out), in)
	}()
	return l.Addr().String()
}

// What travels between endpoints with certificates cannot be read on the way; without, it can.
func TestNothingIsSentInClear(t *testing.T) {
	values := slices.Repeat([]float32{math.Pi}, 100)
	secret := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(math.Pi)), 4)
	folder := certified(t, time.Hour)
	for _, own := range []*identity.Identity{nil, identityOf(t, folder, worker(0))} {
		in := newMailbox()
		options := Options{Roles: []msg.Address{worker(0)}, Handler: in, TCP: true, Identity: own}
		to := listenAs(t, options, 0)
		options.Roles, options.Handler = []msg.Address{worker(1)}, newMailbox()
		from := listenAs(t, options, 0)
		var between relay
		if err := from.Connect(t.Context(), map[msg.Address]string{
			worker(0): between.listen(t, to.Address())}); err != nil {
			t.Fatal(err)
		}
		if err := from.Send(rows(1, 0, 1), exec.Values{Values: compress.Pack(compress.FP32,
			values)}); err != nil {
			t.Fatal(err)
		}
		in.next(t)
		between.mu.Lock()
		if clear := bytes.Contains(between.sent, secret); clear != (own == nil) {
			t.Errorf("with certificates: %t, sent in clear: %t", own != nil, clear)
		}
		between.mu.Unlock()
		closeAll(t, []*Endpoint{from, to})
	}
}

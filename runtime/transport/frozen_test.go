package transport

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/msg"
)

// proxy carries bytes between connections and an address until it is frozen:
// then it takes no more, and nobody is told. So looks a machine that is gone.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	frozen bool
	conns  []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				t.Error(err)
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, near, far)
			p.mu.Unlock()
			wait.Go(func() { p.carry(near, far) })
			wait.Go(func() { p.carry(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // connections that others have closed may be closed again
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		wait.Wait()
	})
	return p
}

func (p *proxy) carry(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if frozen {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if err != nil {
			_ = to.Close()
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			_ = from.Close()
			return
		}
	}
}

func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// A process that says nothing any more, though nothing breaks, is lost within
// 5 s, to a node that has nothing to say to it either.
func TestSilenceIsNoticed(t *testing.T) {
	mustLeaveNothing(t)
	mailboxes := []*mailbox{newMailbox(), newMailbox()}
	nodes := []*Node{listen(t, 0, mailboxes[0]), listen(t, 1, mailboxes[1])}
	ways := []*proxy{newProxy(t, nodes[0].Address()), newProxy(t, nodes[1].Address())}
	for _, n := range nodes {
		peers := map[msg.Address]string{worker(0): ways[0].listener.Addr().String(), worker(1): ways[1].listener.Addr().String()}
		if err := n.Connect(t.Context(), peers); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second) // silence that is answered is none
	if len(mailboxes[0].losses)+len(mailboxes[1].losses) > 0 {
		t.Fatal("lost before anything happened")
	}
	for _, w := range ways {
		w.freeze()
	}
	start := time.Now()
	for i, in := range mailboxes {
		if err := in.loss(t, 10*time.Second); !strings.Contains(err.Error(), "lost "+name(1-i)) {
			t.Error(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s noticed after %v", name(i), took)
		}
	}
	for _, n := range nodes {
		n.Abort()
	}
}

package transport

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/protocol/msg"
)

// proxy forwards bytes between connections and an address. While it is frozen it forwards nothing, and
// neither end notices. This is how a machine that is gone looks, and a process that hangs; when the proxy
// thaws, it is how a process looks that has paused.
type proxy struct {
	listener net.Listener
	target   string

	carrying sync.RWMutex // held for writing while the proxy is frozen

	mu    sync.Mutex
	conns []net.Conn
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
		p.carrying.RLock()
		if err != nil {
			_ = to.Close()
		} else if _, err = to.Write(buffer[:n]); err != nil {
			_ = from.Close()
		}
		p.carrying.RUnlock()
		if err != nil {
			return
		}
	}
}

// apart returns two connected endpoints with a proxy in each direction.
func apart(t *testing.T, silence time.Duration) (nodes []*Endpoint, mailboxes []*mailbox, ways []*proxy) {
	for i := range 2 {
		in := newMailbox()
		n := listenAs(t, Options{Roles: []msg.Address{worker(i)}, Handler: in, Silence: silence}, 0)
		nodes, mailboxes, ways = append(nodes, n), append(mailboxes, in), append(ways,
			newProxy(t, n.Address()))
	}
	for _, n := range nodes {
		peers := map[msg.Address]string{}
		for i, w := range ways {
			peers[worker(i)] = w.listener.Addr().String()
		}
		if err := n.Connect(t.Context(), peers); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, mailboxes, ways
}

// A process that sends nothing any more, though no connection breaks, is lost within 1.5 × Silence, also to
// an endpoint that sends nothing to it. The reason says that it hangs. By default this takes 4.5 s.
func TestSilenceIsNoticed(t *testing.T) { overBoth(t, testSilenceIsNoticed) }

func testSilenceIsNoticed(t *testing.T) {
	if DefaultSilence*3/2 > 5*time.Second {
		t.Errorf("by default a hang is noticed after %v", DefaultSilence*3/2)
	}
	const silence = time.Second
	nodes, mailboxes, ways := apart(t, silence)
	time.Sleep(2 * silence) // silence in which both live is none
	if len(mailboxes[0].losses)+len(mailboxes[1].losses) > 0 {
		t.Fatal("lost before anything happened")
	}
	for _, w := range ways {
		w.carrying.Lock()
	}
	start := time.Now()
	for i, in := range mailboxes {
		err := in.loss(t, 10*time.Second)
		if want := "lost " + name(1-i) + ": it hangs: it has sent nothing, not even a heartbeat, for " +
			"more than 1s"; !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
		// About 1.5 times, on an idle machine.
		if took := time.Since(start); took < silence || took > 4*silence {
			t.Errorf("%s noticed after %v", name(i), took)
		}
	}
	for _, n := range nodes {
		n.Abort()
	}
	for _, w := range ways {
		w.carrying.Unlock()
	}
}

// A pause of less than Silence is survived, and messages sent meanwhile arrive.
func TestPauseIsSurvived(t *testing.T) { overBoth(t, testPauseIsSurvived) }

func testPauseIsSurvived(t *testing.T) {
	const silence = 2 * time.Second
	nodes, mailboxes, ways := apart(t, silence)
	for _, w := range ways {
		w.carrying.Lock()
	}
	for i, n := range nodes {
		if err := n.Send(rows(i, 1-i, 7), nil); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(silence * 4 / 5) // the rest is for a busy machine
	for _, w := range ways {
		w.carrying.Unlock()
	}
	for _, in := range mailboxes {
		if m := in.next(t).m; m.Step != 7 { // it fails if the other is lost
			t.Error(m)
		}
	}
	closeAll(t, nodes)
}

// A pause of this process, however long, does not count as silence of the others: it is one tick.
func TestOwnPauseIsNoSilence(t *testing.T) {
	c := &inStream{conn: &conn{}}
	c.waiting.Store(true)
	for range silentTicksMax {
		if c.countSilence() {
			t.Fatal("too early")
		}
	}
	if !c.countSilence() {
		t.Error("it says nothing, and is not noticed")
	}
	c.conn.reads.Add(1)
	if c.countSilence() || c.silentTicks != 0 {
		t.Error("what it says does not count")
	}
	c.waiting.Store(false)
	for range 2 * silentTicksMax {
		if c.countSilence() {
			t.Fatal("it may not be heard")
		}
	}
}

package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/identity"
	"tandem/runtime/member"
	"tandem/runtime/transport"
	"tandem/runtime/wire"
)

var soak = flag.Duration("soak", time.Minute, "with -long, let strangers disturb a run for that long")

// strangersMax is the number of strangers. Each holds a connection, or is about to open one again.
const strangersMax = 1000

// openedMin is how many connections strangers open to each of the three processes at least: a quarter of them
// begin in the first two seconds.
const openedMin = strangersMax / 3 / 4

// soakJob returns a job of some steps in sync. Messages between its roles take up to 20 ms longer if it is
// paced, so that it lasts without computing much, and travel by TCP.
func soakJob(steps int, paced bool) string {
	text := fmt.Sprintf(`
data:
  kind: synthetic
  synthetic: {train-rows: %d, test-rows: 50, columns: [{name: id, cardinality: 500, zipf: 1.1}]}
model: {kind: feed-forward, embedding-dim: 8, top: [32]}
training: {mode: sync, global-batch: 20}
roles: {ranks: 2, embedding-workers: 1, embedding-ps: 2}
`, 20*steps)
	if paced {
		text += "wire: {local: tcp}\nfaults: {delay: {rate: 1, max: 20ms}}\n"
	}
	return text
}

// A stranger does one thing on a connection until the other end closes it.
type stranger func(c net.Conn, r *rand.Rand)

// wait waits until the other end closes a connection.
func wait(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// silent sends nothing.
func silent(c net.Conn, _ *rand.Rand) { wait(c) }

// noise sends random bytes after a beginning.
func noise(beginning string) stranger {
	return func(c net.Conn, r *rand.Rand) {
		b := make([]byte, r.IntN(256<<10))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		_, _ = c.Write(append([]byte(beginning), b...)) // the other end may close it, as all below
		wait(c)
	}
}

// greeting returns what a TLS client sends first.
func greeting(t *testing.T) []byte {
	t.Helper()
	here, there := net.Pipe()
	defer there.Close()
	go func() { _ = tls.Client(here, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	b := make([]byte, 16<<10)
	n, err := there.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// half sends the first half of a greeting, and no more.
func half(greeting []byte) stranger {
	return func(c net.Conn, _ *rand.Rand) {
		_, _ = c.Write(greeting[:len(greeting)/2])
		wait(c)
	}
}

// slow sends a greeting byte by byte, one in 200 ms.
func slow(greeting []byte) stranger {
	return func(c net.Conn, _ *rand.Rand) {
		for i := range greeting {
			if _, err := c.Write(greeting[i : i+1]); err != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
		wait(c)
	}
}

// certifiedAs makes a handshake with the certificate in a folder, or without one if it is "".
func certifiedAs(t *testing.T, folder string) stranger {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if folder != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return func(c net.Conn, _ *rand.Rand) {
		_ = tls.Client(c, config).Handshake()
		wait(c)
	}
}

// deaf receives nothing.
type deaf struct{}

func (deaf) Deliver(msg.Message, exec.Payload, func()) {}
func (deaf) Lost(string, error)                        {}
func (deaf) Dropped(string, []msg.Address, error)      {}

// An elder is a rank of an older run, with a certificate of the authority that the run has, too.
type elder struct {
	own         *identity.Identity
	fingerprint []byte
}

// call calls a process with a role, or the host if it has none, as a rank of the older run. It returns the
// answer.
func (e elder) call(ctx context.Context, address string, role []msg.Address) error {
	rank := msg.Address{Role: msg.NNWorker, Index: 1}
	old := wire.RunID{1, 2, 3}
	if len(role) == 0 {
		m, err := member.Join(ctx, address, member.Hello{Process: job.Process{rank}, Address: "127.0.0.1:9",
			Job: e.fingerprint, Run: old[:], Identity: e.own}, 10*time.Second)
		if err == nil {
			_, err = m.Welcome()
			err = m.Leave(err)
		}
		return err
	}
	n, err := transport.Listen("127.0.0.1:0", transport.Options{Roles: []msg.Address{rank},
		Job: hex.EncodeToString(e.fingerprint), Handler: deaf{}, Identity: e.own, TCP: true})
	if err != nil {
		return err
	}
	defer n.Abort()
	if err := n.Begin(old, 0, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return n.Connect(ctx, map[msg.Address]string{role[0]: address})
}

// crowd is strangers that go on until their context ends.
type crowd struct {
	ctx           context.Context
	all           sync.WaitGroup
	opened, calls map[string]*atomic.Int64 // connections, and calls of elders, by their target
}

// newCrowd returns a crowd without strangers.
func newCrowd(ctx context.Context, targets []string) *crowd {
	c := &crowd{ctx: ctx, opened: map[string]*atomic.Int64{}, calls: map[string]*atomic.Int64{}}
	for _, target := range targets {
		c.opened[target], c.calls[target] = new(atomic.Int64), new(atomic.Int64)
	}
	return c
}

// total is the number of connections and calls so far.
func (c *crowd) total() (total int64) {
	for target, opened := range c.opened {
		total += opened.Load() + c.calls[target].Load()
	}
	return total
}

// add adds a stranger that does something once in some seconds.
func (c *crowd) add(i int, do func(r *rand.Rand)) {
	c.all.Go(func() {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for {
			select {
			case <-c.ctx.Done():
				return
			case <-time.After(time.Duration(r.IntN(6000)) * time.Millisecond):
				do(r)
			}
		}
	})
}

// on makes a stranger open a connection to a target at its address.
func (c *crowd) on(t *testing.T, target, address string, s stranger) func(*rand.Rand) {
	return func(r *rand.Rand) {
		conn, err := new(net.Dialer).DialContext(c.ctx, "tcp", address)
		if err != nil {
			if c.ctx.Err() == nil {
				t.Errorf("a stranger cannot connect with %s: %v", target, err)
			}
			return
		}
		c.opened[target].Add(1)
		defer context.AfterFunc(c.ctx, func() { conn.Close() })()
		defer conn.Close()
		s(conn, r)
	}
}

// use is what a process says of itself.
type use struct {
	resident, goroutines, refused float64
	reasons                       map[string]float64
}

// useOf reads the metrics of a process.
func useOf(t *testing.T, n *node) use {
	t.Helper()
	found := regexp.MustCompile(`metrics are at (\S+)`).FindStringSubmatch(n.stderr.String())
	if found == nil {
		t.Fatalf("%q has no address of metrics:\n%s", n.Args, n.stderr.String())
	}
	response, err := http.Get(found[1])
	if err != nil {
		t.Fatalf("the run has ended before its strangers: %v\n%s", err, n.stderr.String())
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	u := use{reasons: map[string]float64{}}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, _ := strconv.ParseFloat(value[strings.LastIndex(value, " ")+1:], 64) // 0 for a comment
		switch {
		case name == "process_resident_memory_bytes":
			u.resident = v
		case name == "go_goroutines":
			u.goroutines = v
		case strings.HasPrefix(name, "tandem_refused_total"):
			reason := regexp.MustCompile(`reason="(.*)"} (\S+)`).FindStringSubmatch(line)
			if reason == nil {
				t.Fatalf("%q has no reason", line)
			}
			v, _ = strconv.ParseFloat(reason[2], 64)
			u.refused += v
			u.reasons[reason[1]] += v
		}
	}
	return u
}

// A training in sync ends with the bits of one without strangers, and its processes need no more memory at
// the end of the disturbance than at its beginning, while a thousand strangers open connections to the host,
// a PS and a rank: with random bytes, with half a handshake, byte by byte, in silence, without certificates,
// with those of another run and with those that have expired, and as members of an older run. Each is
// counted.
func TestAThousandStrangers(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: use -long, and -soak for the time of the disturbance")
	}
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certificates := filepath.Join(folder, "own")
	certify(t, write("job.yaml", soakJob(1, true)), "clicks", certificates)
	const few = 100
	began := time.Now()
	digests(t, soakCluster(t, write("few.yaml", soakJob(few, true)), certificates))
	// Starting is counted as well, so the run lasts longer than it must.
	steps := int(float64(*soak+30*time.Second) / float64(time.Since(began)) * few)
	dense, rows := digests(t, startCluster(t, write("plain.yaml", soakJob(steps, false))))

	file := write("paced.yaml", soakJob(steps, true))
	all := soakCluster(t, file, certificates)
	awaitSteps(t, all["host"], 5)
	disturb(t, all, file, certificates)
	if gotDense, gotRows := digests(t, all); gotDense != dense || gotRows != rows {
		t.Errorf("%d steps: network %s, rows %s; without strangers %s, %s", steps, gotDense, gotRows, dense,
			rows)
	}
	t.Logf("%d steps; without strangers: network %s, rows %s", steps, dense, rows)
}

// soakCluster starts a cluster with certificates, all of which serve their metrics.
func soakCluster(t *testing.T, file, certificates string) map[string]*node {
	t.Helper()
	address := freeAddress(t)
	all := map[string]*node{"host": startNode(t, "host", "--file", file, "--tls", certificates, "--listen",
		address, "--metrics-address", "127.0.0.1:0")}
	for _, role := range []string{"data-loader 0", "embedding-worker 0", "embedding-ps 0", "embedding-ps 1",
		"nn-worker 0", "nn-worker 1"} {
		name, index, _ := strings.Cut(role, " ")
		all[role] = startNode(t, name, "--index", index, "--file", file, "--tls", certificates, "--host",
			address, "--wait", "1m", "--listen", freeAddress(t), "--metrics-address", "127.0.0.1:0")
	}
	return all
}

// roleOf has the roles of the processes that strangers disturb.
var roleOf = map[string][]msg.Address{
	"host": nil, "embedding-ps 0": {{Role: msg.EmbeddingPS}}, "nn-worker 0": {{Role: msg.NNWorker}},
}

// disturb lets strangers loose on three processes of a cluster, and measures these meanwhile.
func disturb(t *testing.T, all map[string]*node, file, certificates string) {
	t.Helper()
	targets := slices.Sorted(maps.Keys(roleOf))
	ctx, cancel := context.WithTimeout(t.Context(), *soak)
	defer cancel()
	c := newCrowd(ctx, targets)
	before := map[string]use{}
	for _, target := range targets {
		before[target] = useOf(t, all[target])
	}
	c.gather(t, all, targets, file, certificates)
	most := map[string][2]float64{} // resident memory in the first and the last third
	for start := time.Now(); ctx.Err() == nil; time.Sleep(time.Second) {
		third := int(3 * time.Since(start) / *soak)
		for _, target := range targets {
			u, seen := useOf(t, all[target]), most[target]
			switch third {
			case 0:
				seen[0] = max(seen[0], u.resident)
			case 2:
				seen[1] = max(seen[1], u.resident)
			}
			most[target] = seen
		}
	}
	c.all.Wait()
	after, counted := map[string]use{}, 0.0
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Second) {
		counted = 0
		for _, target := range targets {
			after[target] = useOf(t, all[target])
			counted += after[target].refused - before[target].refused
		}
		if counted >= float64(c.total()) || time.Now().After(deadline) {
			break
		}
	}
	t.Logf("%v: %d connections of strangers and calls of an older run; %.0f refusals", *soak, c.total(),
		counted)
	if counted < float64(c.total()) {
		t.Error("strangers were not counted")
	}
	for _, target := range targets {
		opened, calls := c.opened[target].Load(), c.calls[target].Load()
		t.Logf("%s: %d connections of strangers, %d calls of an older run", target, opened, calls)
		if opened < openedMin || calls == 0 {
			t.Errorf("strangers have hardly disturbed %s: want %d connections, and a call", target, openedMin)
		}
		b, a, m := before[target], after[target], most[target]
		t.Logf("%s: resident %.1f MiB before, at most %.1f in the first third and %.1f in the last, %.1f "+
			"after; goroutines %.0f before, %.0f after; refused %v", target, b.resident/(1<<20), m[0]/(1<<20),
			m[1]/(1<<20), a.resident/(1<<20), b.goroutines, a.goroutines, a.reasons)
		older := string(wire.OtherRun)
		if target == "host" {
			older = "run"
		}
		for _, reason := range []string{"handshake", "untrusted", "expired", older} {
			if a.reasons[reason] == 0 {
				t.Errorf("%s has refused no stranger as %s", target, reason)
			}
		}
		if m[1] > 1.1*m[0]+8<<20 {
			t.Errorf("the memory of %s has grown from %.0f to %.0f bytes", target, m[0], m[1])
		}
		if a.goroutines > b.goroutines+20 {
			t.Errorf("%s had %.0f goroutines, and has %.0f", target, b.goroutines, a.goroutines)
		}
	}
}

// gather lets all strangers begin.
func (c *crowd) gather(t *testing.T, all map[string]*node, targets []string, file, certificates string) {
	t.Helper()
	folder := t.TempDir()
	certify(t, file, "other", filepath.Join(folder, "other"))
	authority, err := identity.KeepAuthority(certificates, "clicks")
	if err != nil {
		t.Fatal(err)
	}
	rank := job.Process{{Role: msg.NNWorker}}
	_, err = authority.Write(filepath.Join(folder, "old"), []job.Process{rank}, -time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	own, err := identity.Open(certificates, rank, nil)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	e := elder{own: own}
	if e.fingerprint, err = j.Fingerprint(); err != nil {
		t.Fatal(err)
	}
	hello := greeting(t)
	kinds := []stranger{noise(""), noise("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), half(hello), slow(hello),
		silent, certifiedAs(t, ""), certifiedAs(t, filepath.Join(folder, "other", "nn-worker")),
		certifiedAs(t, filepath.Join(folder, "old", "nn-worker"))}
	for i := range strangersMax {
		target := targets[i%len(targets)]
		address := all[target].listens(t)
		if kind := i / len(targets) % (len(kinds) + 1); kind < len(kinds) {
			c.add(i, c.on(t, target, address, kinds[kind]))
			continue
		}
		c.add(i, func(*rand.Rand) {
			if err := e.call(c.ctx, address, roleOf[target]); err == nil {
				t.Errorf("%s has let in a member of an older run", target)
			}
			if c.ctx.Err() == nil {
				c.calls[target].Add(1)
			}
		})
	}
}

// listens returns the address at which a process listens.
func (n *node) listens(t *testing.T) string {
	t.Helper()
	for i, argument := range n.Args {
		if argument == "--listen" {
			return n.Args[i+1]
		}
	}
	t.Fatalf("%q has no --listen", n.Args)
	return ""
}

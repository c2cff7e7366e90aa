package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tandem/algo/job"
	"tandem/internal/cli/clitest"
	"tandem/runtime/inference/oip"
)

// guarded is a server of both protocols, and of metrics.
type guarded struct {
	stderr        clitest.Buffer
	address, grpc string // HOST:PORT
	metrics       string // URL
}

// startGuarded runs the program with further arguments until the test ends.
func startGuarded(t *testing.T, args ...string) *guarded {
	t.Helper()
	_, folder := save(t)
	g := &guarded{}
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{folder, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
			"--metrics-address", "127.0.0.1:0"}, args...), io.Discard, &g.stderr)
	}()
	t.Cleanup(func() {
		cancel()
		if c := <-code; c != 0 {
			t.Errorf("exit code %d: %s", c, g.stderr.String())
		}
	})
	for {
		text := g.stderr.String()
		if _, rest, ok := strings.Cut(text, ", gRPC at "); ok && strings.HasSuffix(rest, "\n") {
			g.grpc = strings.TrimSpace(rest)
			break
		}
		select {
		case c := <-code:
			t.Fatalf("exit code %d: %s", c, text)
		case <-time.After(time.Millisecond):
		}
	}
	_, rest, _ := strings.Cut(g.stderr.String(), "metrics are at ")
	g.metrics, rest, _ = strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "://")
	g.address, _, _ = strings.Cut(rest, "/")
	return g
}

// get returns the status and the body of an answer.
func get(t *testing.T, client *http.Client, url, authorization string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
	}
	a, err := client.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// Without a token of the file, nothing is answered but whether the server lives. Refusals say nothing of the
// tokens, and are counted.
func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	first, second := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# of the shop\n" + first + "\n\n" + second + "\r\n")
	g := startGuarded(t, "--token-file", file)
	model := "http://" + g.address + "/v2/models/tandem"
	wrong := strings.Repeat("x", 64)
	refused := ""
	for _, c := range []struct {
		authorization string
		want          int
	}{
		{"", 401}, {"Bearer " + wrong, 401}, {"Bearer " + first[:63], 401}, {"Bearer " + first + "0", 401},
		{"Basic " + first, 401}, {first, 401}, {"Bearer ", 401}, {"Bearer # of the shop", 401},
		{"Bearer " + first, 200}, {"bearer " + second, 200},
	} {
		for _, url := range []string{model, g.metrics} {
			code, text := get(t, http.DefaultClient, url, c.authorization)
			if code != c.want {
				t.Errorf("%s with %q: status %d, want %d", url, c.authorization, code, c.want)
			}
			if refused == "" {
				refused = text
			}
			if c.want == 401 && text != refused {
				t.Errorf("with %q: %s, and before %s", c.authorization, text, refused)
			}
		}
		ctx := t.Context()
		if c.authorization != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", c.authorization)
		}
		err := dial(t, g.grpc).Invoke(ctx, servicePath+"ModelMetadata",
			&oip.ModelMetadataRequest{Name: "tandem"}, new(oip.ModelMetadataResponse))
		code := codes.OK
		if c.want == 401 {
			code = codes.Unauthenticated
		}
		if status.Code(err) != code {
			t.Errorf("gRPC with %q: %v", c.authorization, err)
		}
	}
	if code, text := get(t, http.DefaultClient, "http://"+g.address+"/v2/health/live", ""); code != 200 {
		t.Errorf("health: status %d, %s", code, text)
	}
	if err := dial(t, g.grpc).Invoke(t.Context(), servicePath+"ServerLive", &oip.ServerLiveRequest{},
		new(oip.ServerLiveResponse)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("health over gRPC, which needs a token as all its calls: %v", err)
	}
	_, text := get(t, http.DefaultClient, g.metrics, "Bearer "+first)
	for _, want := range []string{`tandem_refused_total{reason="no token"} 4`,
		`tandem_refused_total{reason="wrong token"} 21`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if said := g.stderr.String() + text + refused; strings.Contains(said, first) ||
		strings.Contains(said, second) || strings.Contains(said, wrong) ||
		!strings.Contains(said, "refused 127.0.0.1: wrong token\n") {
		t.Errorf("a token is shown, or no refusal:\n%s", said)
	}
	write(first + "\n")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if code, _ := get(t, http.DefaultClient, model, "Bearer "+second); code == 401 {
			break // the file was read again
		}
		if time.Now().After(deadline) {
			t.Fatal("a token that was removed is accepted")
		}
	}
	if code, _ := get(t, http.DefaultClient, model, "Bearer "+first); code != 200 {
		t.Errorf("the token that stays: status %d", code)
	}
}

// authority signs certificates in a folder.
type authority struct {
	t           *testing.T
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, folder: t.TempDir()}
	a.certificate, a.key = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	return a
}

// path returns the path of a file of the authority.
func (a *authority) path(name string) string { return filepath.Join(a.folder, name) }

// sign makes NAME.crt and NAME.key, signed by the authority or, if it has no certificate yet, by themselves.
func (a *authority) sign(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der},
		name + ".key": {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(a.path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, key
}

// server makes the certificate of a server on this machine.
func (a *authority) server() *x509.Certificate {
	a.t.Helper()
	c, _ := a.sign("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return c
}

// client returns a configuration that believes the authority, with a certificate of another one; nil: none.
func (a *authority) client(of *authority) *tls.Config {
	a.t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AddCert(a.certificate)
	if of != nil {
		of.sign("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		pair, err := tls.LoadX509KeyPair(of.path("client.crt"), of.path("client.key"))
		if err != nil {
			a.t.Fatal(err)
		}
		c.Certificates = append(c.Certificates, pair)
	}
	return c
}

// Clients without a certificate of --client-ca are refused in both protocols and by the metrics, and counted.
// Those with one are answered. A certificate of the server that was replaced is used.
func TestMutualTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	first := a.server()
	g := startGuarded(t, "--tls-cert", a.path("server.crt"), "--tls-key", a.path("server.key"), "--client-ca",
		a.path("ca.crt"))
	for _, c := range []struct {
		name   string
		config *tls.Config
		ok     bool
	}{{"no certificate", a.client(nil), false}, {"another authority", a.client(other), false},
		{"its certificate", a.client(a), true}} {
		for _, h2 := range []bool{false, true} {
			transport := &http.Transport{TLSClientConfig: c.config, ForceAttemptHTTP2: h2}
			client := &http.Client{Transport: transport}
			for _, url := range []string{"https://" + g.address + "/v2/models/tandem", g.metrics} {
				if code, text := get(t, client, url, ""); (code == 200) != c.ok {
					t.Errorf("%s, HTTP/2: %t, %s: status %d, %s", c.name, h2, url, code, text)
				}
			}
			transport.CloseIdleConnections()
		}
		conn, err := grpc.NewClient("passthrough:///"+g.grpc,
			grpc.WithTransportCredentials(credentials.NewTLS(c.config)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Invoke(t.Context(), servicePath+"ServerLive", &oip.ServerLiveRequest{},
			new(oip.ServerLiveResponse)); (err == nil) != c.ok {
			t.Errorf("%s: gRPC: %v", c.name, err)
		}
	}
	if code, text := get(t, http.DefaultClient, "http://"+g.address+"/v2/health/live", ""); code == 200 {
		t.Errorf("without TLS: status %d, %s", code, text)
	}
	member := &http.Client{Transport: &http.Transport{TLSClientConfig: a.client(a)}}
	// Each of two was refused by two servers over two protocols. A client may learn it before it is counted.
	refused := 0
	for deadline := time.Now().Add(time.Minute); refused < 8; time.Sleep(10 * time.Millisecond) {
		_, text := get(t, member, g.metrics, "")
		if _, rest, ok := strings.Cut(text, `tandem_refused_total{reason="handshake"} `); ok {
			fmt.Sscan(rest, &refused)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d refusals are counted:\n%s", refused, text)
		}
	}
	if said := g.stderr.String(); strings.Count(said, "refused 127.0.0.1: ") != 1 {
		t.Errorf("logged:\n%s", said)
	}
	second := a.server()
	config := a.client(a)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		shown, err := tls.Dial("tcp", g.address, config)
		if err != nil {
			t.Fatal(err)
		}
		got := shown.ConnectionState().PeerCertificates[0]
		shown.Close()
		if got.Equal(second) && !got.Equal(first) {
			break // the files were read again
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server shows certificate %v, not the new one", got.SerialNumber)
		}
	}
}

// Flags that do not fit together, or that would show tokens, are usage errors. Files that cannot be used are
// errors that do not show what they have.
func TestDoorFlags(t *testing.T) {
	a := newAuthority(t)
	a.server()
	_, folder := save(t)
	short := a.path("short")
	if err := os.WriteFile(short, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := a.path("empty")
	if err := os.WriteFile(empty, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--tls-cert server.crt", 2, "--tls-cert and --tls-key belong together"},
		{"--client-ca ca.crt", 2, "--client-ca: no TLS without a certificate"},
		{"--http 0.0.0.0:0 --token-file " + short, 2, "tokens would travel to 0.0.0.0:0 without encryption"},
		{"--grpc :0 --token-file " + short, 2, "tokens would travel to :0 without encryption"},
		{"--max-concurrent 0", 2, "--max-concurrent must be at least 1"},
		{"--max-time 0s", 2, "--max-time 0s: must be positive"},
		{"--token-file " + short, 1, "--token-file: line 1: the token has 7 bytes, want at least 32"},
		{"--token-file " + empty, 1, "--token-file: there is no token"},
		{"--tls-cert " + a.path("server.crt") + " --tls-key " + a.path("ca.key"), 1,
			"--client-ca: tls: private key does not match"},
	} {
		var stderr clitest.Buffer
		args := append([]string{folder, "--http", "127.0.0.1:0"}, strings.Fields(c.args)...)
		code := run(t.Context(), args, io.Discard, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.want) ||
			strings.Contains(stderr.String(), "hunter2") {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr.String())
		}
	}
}

// Requests beyond the limits of depth, number and time are refused, each with its status and its flag.
func TestLimitsOfRequests(t *testing.T) {
	_, folder := save(t)
	s := newTestService(t, folder)
	post := func(ctx context.Context, body string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/v2/models/tandem/infer", strings.NewReader(body))
		s.handler(1<<20).ServeHTTP(w, r.WithContext(ctx))
		return w.Code, w.Body.String()
	}
	good := `{"inputs": [{"name": "user", "shape": [1], "datatype": "BYTES", "data": ["u0"]},
		{"name": "tags", "shape": [1], "datatype": "BYTES", "data": ["a0|b0"]},
		{"name": "price", "shape": [1], "datatype": "FP32", "data": [0]}]}`
	nested := func(n int) string {
		return `{"more": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + ", " + good[1:]
	}
	full := func() { // of requests
		for range cap(s.slots) {
			s.slots <- struct{}{}
		}
	}
	for _, c := range []struct {
		name   string
		before func()
		body   string
		code   int
		want   string
	}{
		{"a request", func() {}, good, 200, "prediction"},
		{"as deep as may be", func() {}, nested(depthMax), 200, "prediction"},
		{"deeper", func() {}, nested(depthMax + 1), 400, "more than 32 lists and objects in each other"},
		{"too late", func() { s.timeMax = time.Nanosecond }, good, 408,
			"longer than 1ns, the limit of this server (--max-time)"},
		{"too many", full, good, 503,
			"256 requests are under way, the limit of this server (--max-concurrent)"},
	} {
		c.before()
		if code, text := post(t.Context(), c.body); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, %s", c.name, code, text)
		}
	}
	late, cancel := context.WithTimeoutCause(t.Context(), 0, errSlow)
	defer cancel()
	_, err := s.inferGRPC(late, inferRequest([]string{"u0"}, []string{"a0|b0"}, []float32{0}))
	if codeOf(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "--max-time") {
		t.Errorf("gRPC, too late: %v", err)
	}
	if _, err := s.begin(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("gRPC, too many: %v", err)
	}
}

// A request for a damaged row is an error that names the file, once in the log; others are answered.
func TestDamagedRowsAreNotServed(t *testing.T) {
	table, folder := saveWith(t, func(j *job.Job) { j.Model.EmbeddingDim = 256 })
	name := filepath.Join(folder, "rows-00000-of-00002.arrow")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[6000] ^= 1 // in the embedding of some row
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	var said []string
	s := newTestService(t, folder)
	s.say = func(line string) { said = append(said, line) }
	users, tags, prices := columns(t, table)
	answered, failed := 0, 0
	for i := range users {
		_, err := s.inferGRPC(t.Context(), inferRequest(users[i:i+1], tags[i:i+1], prices[i:i+1]))
		switch {
		case err == nil:
			answered++
		case codeOf(err) == codes.Internal && strings.HasPrefix(err.Error(), filepath.Base(name)+": bytes "):
			failed++ // and clients do not learn the folder
		default:
			t.Error(err)
		}
	}
	if answered == 0 || failed == 0 {
		t.Errorf("%d requests are answered, and %d fail", answered, failed)
	}
	if len(said) != 1 || !strings.Contains(said[0], "requests for some rows fail: model "+folder) {
		t.Errorf("the log has %q", said)
	}
}

// A request that arrives too slowly is refused, and its slot is free for another.
func TestSlowRequestsEnd(t *testing.T) {
	_, folder := save(t)
	s := newTestService(t, folder)
	s.timeMax, s.slots = 50*time.Millisecond, make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(s.handler(1 << 20))
	server.Config.ReadTimeout, server.Config.ReadHeaderTimeout = s.timeMax, headerTime
	server.Start()
	defer server.Close()
	for range 2 {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "POST /v2/models/tandem/infer HTTP/1.1\r\nHost: here\r\n"+
			"Content-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") ||
			!strings.Contains(string(answer), "not sent within 50ms") {
			t.Errorf("%v, %s", err, answer)
		}
	}
}

package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
)

var (
	rank   = msg.Address{Role: msg.NNWorker, Index: 1}
	server = msg.Address{Role: msg.EmbeddingPS}
)

// issued makes an authority of a run, and the certificates of the host, an NN worker and an embedding PS.
func issued(t *testing.T, run string) (*Authority, string) {
	t.Helper()
	folder := t.TempDir()
	a, err := KeepAuthority(folder, run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(folder, []job.Process{{rank}, {server}, {rank, server}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	return a, folder
}

func opened(t *testing.T, folder string, roles ...msg.Address) *Identity {
	t.Helper()
	i, err := Open(folder, roles, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// ends returns the two ends of a connection.
func ends(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() }) // the test may have closed them
	return client, server
}

// accepts returns what an identity says of a process that behaves as dial does.
func accepts(t *testing.T, i *Identity, dial func(net.Conn)) (*Name, error) {
	t.Helper()
	client, server := ends(t)
	go dial(client)
	_, name, err := i.Accept(server)
	return name, err
}

// with returns a client that shows a certificate, and believes everything.
func with(certificate tls.Certificate) func(net.Conn) {
	return func(c net.Conn) {
		_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, // and maybe the other end refuses it
			Certificates: []tls.Certificate{certificate}}).Handshake()
	}
}

// The end that accepts refuses each kind of stranger with its reason, and admits a process of the run.
func TestStrangersAreRefused(t *testing.T) {
	a, folder := issued(t, "clicks")
	host := opened(t, folder)
	stranger, err := NewAuthority("clicks")
	if err != nil {
		t.Fatal(err)
	}
	other := *a
	other.run = "other"
	worker := []claim{{"nn-worker", anyIndex}}
	now := time.Now()
	signed := func(a *Authority, claims []claim, from, to time.Time) func(net.Conn) {
		certificate, key, err := a.sign(claims, from, to)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return with(pair)
	}
	for _, c := range []struct {
		name   string
		dial   func(net.Conn)
		reason Reason
		says   string
	}{
		{"no TLS", func(c net.Conn) { _, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\n")) }, Handshake,
			"does not look like a TLS handshake"},
		{"no certificate", func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake()
		}, Handshake, "didn't provide a certificate"},
		{"TLS 1.2", func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}).Handshake()
		}, Handshake, "unsupported versions"},
		{"other authority", signed(stranger, worker, now, now.Add(time.Hour)), Untrusted,
			"certificate of tandem://clicks/nn-worker is not accepted"},
		{"expired", signed(a, worker, now.Add(-2*time.Hour), now.Add(-time.Hour)), Expired,
			"and not now; renew it"},
		{"not yet valid", signed(a, worker, now.Add(time.Hour), now.Add(2*time.Hour)), Expired,
			"and not now"},
		{"other run", signed(&other, worker, now.Add(-time.Hour), now.Add(time.Hour)), OtherRun,
			"tandem://other/nn-worker is of another run than clicks"},
		{"unknown role", signed(a, []claim{{"king", anyIndex}}, now.Add(-time.Hour), now.Add(time.Hour)),
			OtherRun, "does not name a role"},
	} {
		name, err := accepts(t, host, c.dial)
		refused := (*Refused)(nil)
		if name != nil || !errors.As(err, &refused) || refused.Reason != c.reason ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", c.name, name, err)
		}
	}
	name, err := accepts(t, host, signed(a, worker, now.Add(-time.Hour), now.Add(time.Hour)))
	if err != nil || name.String() != "tandem://clicks/nn-worker" {
		t.Errorf("%v, %v", name, err)
	}
}

// signedFor makes a certificate with one URI that is good for some uses.
func signedFor(t *testing.T, a *Authority, uri string, usages ...x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usages, URIs: parsed(t, []string{uri})}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The end that accepts refuses a certificate that is good for servers only, and the end that connects one
// that is good for clients only.
func TestUsesAreVerified(t *testing.T) {
	a, folder := issued(t, "clicks")
	own := opened(t, folder, server)
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		x509.ExtKeyUsageCodeSigning} {
		other := signedFor(t, a, "tandem://clicks/nn-worker", usage)
		_, err := accepts(t, own, with(other))
		check := func(end string, err error, isGood bool) {
			refused := (*Refused)(nil)
			if isGood && err != nil || !isGood && (!errors.As(err, &refused) || refused.Reason != Untrusted ||
				!strings.Contains(err.Error(), "incompatible key usage")) {
				t.Errorf("a certificate of usage %d at the end that %s: %v", usage, end, err)
			}
		}
		check("accepts", err, usage == x509.ExtKeyUsageClientAuth)
		client, at := ends(t)
		go func() {
			_ = tls.Server(at, &tls.Config{ // and it may be refused
				Certificates: []tls.Certificate{other}}).Handshake()
		}()
		_, _, err = own.Client([]msg.Address{rank}, func(error) {}).ClientHandshake(t.Context(), "", client)
		check("connects", err, usage == x509.ExtKeyUsageServerAuth)
	}
}

// A process of another trust domain is refused at both ends, also if the same authority has signed for it and
// it names the same run.
func TestTrustDomainsAreApart(t *testing.T) {
	a, _ := issued(t, "clicks")
	uses := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	const ours, theirs, plain = "spiffe://a/tandem/clicks/host", "spiffe://b/tandem/clicks/host",
		"tandem://clicks/host"
	of := func(uri string) *Identity {
		pair := signedFor(t, a, uri, uses...)
		key, err := keyPEM(pair.PrivateKey.(*ecdsa.PrivateKey))
		if err != nil {
			t.Fatal(err)
		}
		own := t.TempDir()
		for name, content := range map[string][]byte{authorityFile: a.pem(), keyFile: key,
			certificateFile: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: pair.Certificate[0]})} {
			if err := os.WriteFile(filepath.Join(own, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return opened(t, own)
	}
	for _, own := range []string{ours, plain} {
		for _, other := range []string{ours, theirs, plain} {
			from, to := of(other), of(own)
			_, accepted := accepts(t, to, with(from.current().certificate))
			reached, _ := reaches(t, to, from)
			for end, err := range map[string]error{"accepts": accepted, "connects": reached} {
				refused := (*Refused)(nil)
				if own == other && err != nil || own != other && (!errors.As(err, &refused) ||
					refused.Reason != OtherRun || !strings.Contains(err.Error(), "another trust domain")) {
					t.Errorf("%s at the end of %s that %s: %v", other, own, end, err)
				}
			}
		}
	}
}

// reaches returns the error with which one identity connects to another, and what the receiver of refusals
// has received.
func reaches(t *testing.T, from, to *Identity, roles ...msg.Address) (err error, told error) {
	t.Helper()
	client, server := ends(t)
	go func() { _, _, _ = to.Accept(server) }() // it may refuse the other
	creds := from.Client(roles, func(err error) { told = err })
	_, _, err = creds.ClientHandshake(context.Background(), "", client)
	return err, told
}

// The end that connects reaches only a process of the role that it wants.
func TestOnlyTheWantedRoleIsReached(t *testing.T) {
	_, folder := issued(t, "clicks")
	_, elsewhere := issued(t, "clicks")
	own := opened(t, folder, rank)
	for _, c := range []struct {
		name  string
		to    *Identity
		roles []msg.Address
		want  Reason // "": it is reached
	}{
		{"the host", opened(t, folder), nil, ""},
		{"a PS", opened(t, folder, server), []msg.Address{{Role: msg.EmbeddingPS, Index: 7}}, ""},
		{"one of several roles", opened(t, folder, rank, server), []msg.Address{server}, ""},
		{"a PS as the host", opened(t, folder, server), nil, OtherRole},
		{"the host as a PS", opened(t, folder), []msg.Address{server}, OtherRole},
		{"a PS as two roles", opened(t, folder, server), []msg.Address{server, rank}, OtherRole},
		{"another authority", opened(t, elsewhere), nil, Untrusted},
	} {
		err, told := reaches(t, own, c.to, c.roles...)
		refused := (*Refused)(nil)
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refused) ||
			refused.Reason != c.want || told == nil) {
			t.Errorf("%s: %v, receiver of refusals: %v", c.name, err, told)
		}
	}
}

// A connection that is lost in the handshake, or is too slow, refuses no process: another may succeed.
func TestLostConnectionRefusesNobody(t *testing.T) {
	_, folder := issued(t, "clicks")
	own := opened(t, folder, rank)
	reach := func(ctx context.Context, client net.Conn) {
		t.Helper()
		told := error(nil)
		_, _, err := own.Client(nil, func(err error) { told = err }).ClientHandshake(ctx, "", client)
		if err == nil || errors.As(err, new(*Refused)) || told != nil {
			t.Errorf("%v, receiver of refusals: %v", err, told)
		}
	}
	client, server := ends(t)
	_ = server.Close()
	reach(context.Background(), client)
	client, _ = ends(t) // no process answers
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	reach(ctx, client)
	if _, err := accepts(t, own, func(c net.Conn) { _ = c.Close() }); err == nil ||
		errors.As(err, new(*Refused)) {
		t.Errorf("accepted: %v", err)
	}
}

// A server counts a connection that ends within its handshake, as it counts others that are not let in.
func TestLostHandshakesAreCounted(t *testing.T) {
	_, folder := issued(t, "clicks")
	client, server := ends(t)
	_ = client.Close()
	var told []Reason
	_, _, err := opened(t, folder, rank).Server(func(_ net.Addr, why *Refused) {
		told = append(told, why.Reason)
	}).ServerHandshake(server)
	if err == nil || len(told) != 1 || told[0] != Handshake {
		t.Errorf("%v, counted as %q", err, told)
	}
}

// A process that is refused learns it from its first read.
func TestRefusedProcessIsTold(t *testing.T) {
	_, folder := issued(t, "clicks")
	_, elsewhere := issued(t, "clicks")
	host, stranger := opened(t, folder), opened(t, elsewhere, rank)
	stranger.current().authorities = host.current().authorities // it believes the host
	client, server := ends(t)
	go func() { _, _, _ = host.Accept(server) }()
	var told error
	c, _, err := stranger.Client(nil, func(err error) { told = err }).
		ClientHandshake(context.Background(), "", client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Read(make([]byte, 1)); err == nil || told == nil ||
		!strings.Contains(told.Error(), "it refuses the certificate of tandem://clicks/nn-worker") {
		t.Errorf("%v, receiver of refusals: %v", err, told)
	}
}

// A certificate with an index is good for the process that was started with it, and for its roles in a part
// of a run that numbers them otherwise.
func TestIndexHoldsForTheSeat(t *testing.T) {
	n := &Name{run: "clicks", claims: []claim{{"nn-worker", 1}}}
	for index, want := range []bool{false, true, false} {
		at := []msg.Address{{Role: msg.NNWorker, Index: int32(index)}}
		if err := n.CheckSeat(at); (err == nil) != want {
			t.Errorf("index %d: %v", index, err)
		}
		if err := n.CheckRoles(at); err != nil {
			t.Errorf("index %d in a part of a run: %v", index, err)
		}
	}
	if err := (*Name)(nil).CheckSeat([]msg.Address{rank}); err == nil {
		t.Error("no certificate is good for a rank")
	}
}

// A certificate that was replaced is used for connections a second later. While the files do not fit
// together, that before is used.
func TestRotatedCertificateIsUsed(t *testing.T) { synctest.Test(t, testRotatedCertificateIsUsed) }

func testRotatedCertificateIsUsed(t *testing.T) {
	a, folder := issued(t, "clicks")
	var lines []string
	i, err := Open(folder, []msg.Address{rank}, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	first := i.current().certificate.Leaf.SerialNumber
	own := filepath.Join(folder, "nn-worker")
	certificate, err := os.ReadFile(filepath.Join(own, certificateFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(folder, []job.Process{{rank}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(filepath.Join(own, certificateFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(own, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(certificateFile, certificate) // the key is new
	time.Sleep(time.Second)
	if got := i.current().certificate.Leaf.SerialNumber; got.Cmp(first) != 0 {
		t.Error("a certificate is used whose key was replaced")
	}
	if err := os.Remove(filepath.Join(own, certificateFile)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if got := i.current().certificate.Leaf.SerialNumber; got.Cmp(first) != 0 {
		t.Error("without files, not the certificate before is used")
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "what it said before stays") {
		t.Errorf("logged: %q", lines)
	}
	write(certificateFile, fresh)
	time.Sleep(time.Second)
	if got := i.current().certificate.Leaf.SerialNumber; got.Cmp(first) == 0 {
		t.Error("the certificate was replaced, and the old one is used")
	}
	host := opened(t, folder)
	client, server := ends(t)
	go func() { _, _, _ = host.Accept(server) }()
	creds := i.Client(nil, func(err error) { t.Error(err) })
	c, _, err := creds.ClientHandshake(context.Background(), "", client)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Files that cannot be used are errors that say which, and why.
func TestUnusableFiles(t *testing.T) {
	a, folder := issued(t, "clicks")
	_, elsewhere := issued(t, "clicks")
	copied := func(from, name string) func(string) error {
		return func(to string) error {
			content, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, name), content, 0o600)
		}
	}
	for _, c := range []struct {
		change func(own string) error
		want   string
	}{
		{func(own string) error { return os.Remove(filepath.Join(own, keyFile)) }, "make it with node cert"},
		{copied(filepath.Join(elsewhere, "nn-worker"), keyFile), "private key does not match"},
		{copied(filepath.Join(elsewhere, "nn-worker"), authorityFile), "signed by unknown authority"},
		{func(own string) error {
			return os.WriteFile(filepath.Join(own, authorityFile), []byte("none"), 0o600)
		}, "ca.crt has no certificate"},
		{func(own string) error { return a.writeOne(own, []string{"embedding-ps"}, time.Hour) },
			"nn-worker 1 has the certificate of tandem://clicks/embedding-ps"},
		{func(own string) error { return a.writeOne(own, []string{"nn-worker"}, -time.Minute) },
			"and not now; renew it"},
	} {
		if _, err := a.Write(folder, []job.Process{{rank}}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := c.change(filepath.Join(folder, "nn-worker")); err != nil {
			t.Fatal(err)
		}
		_, err := Open(folder, []msg.Address{rank}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := Open(filepath.Join(folder, "embedding-ps"), nil, nil); err == nil ||
		!strings.Contains(err.Error(), "the host has the certificate of") {
		t.Error(err)
	}
}

// Everything that is written can be read by its owner alone. An authority that is kept signs again, for its
// run only, and nothing that outlives it. Half of one is not replaced.
func TestKeptAuthority(t *testing.T) {
	first, folder := issued(t, "clicks")
	files := 0
	if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has rights %v", path, info.Mode())
		}
		files++
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files != 19 { // 5 folders, 4 of them with 3 files, and the authority with 2
		t.Errorf("%d files and folders", files)
	}
	again, err := KeepAuthority(folder, "clicks")
	if err != nil || !again.certificate.Equal(first.certificate) || !again.key.Equal(first.key) {
		t.Errorf("the authority is another one: %v", err)
	}
	if _, err := KeepAuthority(folder, "other"); err == nil ||
		!strings.Contains(err.Error(), "is the authority of run clicks, not other") {
		t.Error(err)
	}
	if _, err := again.Write(folder, nil, 11*365*24*time.Hour); err == nil ||
		!strings.Contains(err.Error(), "the authority is valid until "+
			first.certificate.NotAfter.UTC().Format(time.DateTime)) {
		t.Errorf("a certificate outlives its authority: %v", err)
	}
	for _, missing := range []string{authorityFile, authorityKeyFile} {
		half := t.TempDir()
		if _, err := KeepAuthority(half, "clicks"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(half, authorityFolder, missing)); err != nil {
			t.Fatal(err)
		}
		if _, err := KeepAuthority(half, "clicks"); err == nil ||
			!strings.Contains(err.Error(), missing+": no such file or directory; bring it back") {
			t.Errorf("an authority without %s: %v", missing, err)
		}
	}
}

// An authority that has expired is named with its own dates, not those of the certificate.
func TestExpiredAuthority(t *testing.T) {
	a, _ := issued(t, "clicks")
	now := time.Now()
	a.certificate.NotBefore, a.certificate.NotAfter = now.Add(-2*time.Hour), now.Add(-time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	certificate, key, err := a.sign([]claim{{Host, anyIndex}}, now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parse(certificate, key, a.pem())
	refused := (*Refused)(nil)
	want := "an authority of the certificate of tandem://clicks/host is valid from " +
		a.certificate.NotBefore.UTC().Format(time.DateTime)
	if !errors.As(err, &refused) || refused.Reason != Expired || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// The URIs of a certificate name one run and known roles.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		uris []string
		want string // "": refused
	}{
		{[]string{"tandem://clicks/nn-worker"}, "tandem://clicks/nn-worker"},
		{[]string{"tandem://clicks/nn-worker/3", "tandem://clicks/embedding-worker"},
			"tandem://clicks/nn-worker/3, tandem://clicks/embedding-worker"},
		{[]string{"spiffe://example.org/tandem/clicks/host"},
			"spiffe://example.org/tandem/clicks/host"},
		{[]string{"spiffe://example.org/tandem/clicks/nn-worker/2"},
			"spiffe://example.org/tandem/clicks/nn-worker/2"},
		{[]string{"https://example.org/", "tandem://clicks/host"}, "tandem://clicks/host"},
		{nil, ""},
		{[]string{"spiffe://example.org/clicks/host"}, ""},
		{[]string{"spiffe:///tandem/clicks/host"}, ""},
		{[]string{"spiffe://a/tandem/clicks/host", "spiffe://b/tandem/clicks/nn-worker"}, ""},
		{[]string{"spiffe://a/tandem/clicks/host", "tandem://clicks/nn-worker"}, ""},
		{[]string{"tandem://clicks/host", "tandem://other/nn-worker"}, ""},
		{[]string{"tandem://clicks/king"}, ""},
		{[]string{"tandem://clicks/nn-worker/-1"}, ""},
		{[]string{"tandem://clicks/nn-worker/1/2"}, ""},
		{[]string{"tandem://clicks/"}, ""},
		{[]string{"tandem://clicks:1/host"}, ""},
		{[]string{"tandem:///host"}, ""},
	} {
		n, err := nameOf(&x509.Certificate{URIs: parsed(t, c.uris)})
		if (err == nil) != (c.want != "") || err == nil && n.String() != c.want {
			t.Errorf("%q: %v, %v", c.uris, n, err)
		}
	}
	for run, want := range map[string]bool{"clicks": true, "a.b-1": true, "": false, "A": false, "a/b": false,
		"a..b": false, "-a": false, strings.Repeat("a", 64): false} {
		if err := CheckRun(run); (err == nil) != want {
			t.Errorf("%q: %v", run, err)
		}
	}
	if got := FolderOf([]msg.Address{rank, server, {Role: msg.NNWorker}}); got != "embedding-ps.nn-worker" {
		t.Error(got)
	}
	if !slices.Equal(kindsOf(nil), []string{Host}) {
		t.Error("without roles, a process is not the host")
	}
}

func parsed(t *testing.T, texts []string) (all []*url.URL) {
	t.Helper()
	for _, text := range texts {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

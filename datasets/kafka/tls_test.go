package kafka_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"tandem/datasets"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	own  *x509.Certificate
	key  *ecdsa.PrivateKey
	text []byte // PEM
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, own: &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true,
		BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}}
	der, err := x509.CreateCertificate(rand.Reader, a.own, a.own, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a.text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// sign returns a certificate of a server with an address or a name.
func (a *authority) sign(address net.IP, name string) *tls.Config {
	a.t.Helper()
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if address != nil {
		leaf.IPAddresses = []net.IP{address}
	} else {
		leaf.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.own, &a.key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: a.key}}}
}

// systemAuthority is the authority of this machine: a process reads SSL_CERT_FILE once.
var systemAuthority struct {
	sync.Once
	*authority
}

func ofSystem(t *testing.T) *authority {
	t.Helper()
	systemAuthority.Do(func() {
		systemAuthority.authority = newAuthority(t)
		file := filepath.Join(t.TempDir(), "ca.crt")
		if err := os.WriteFile(file, systemAuthority.text, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("SSL_CERT_FILE", file)
		if _, err := x509.SystemCertPool(); err != nil {
			t.Fatal(err)
		}
	})
	return systemAuthority.authority
}

// impostor listens with a certificate, and returns its address and what arrives there encrypted.
func impostor(t *testing.T, config *tls.Config) (address string, received func() int) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	total := 0
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			n, _ := c.Read(make([]byte, 100)) // the client may have refused the certificate
			mu.Lock()
			total += n
			mu.Unlock()
			c.Close()
		}
	}()
	return l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return total
	}
}

// With tls=true a topic is read from brokers with a certificate for their address that the system trusts, and
// nothing is sent to others.
func TestBrokersMustShowACertificate(t *testing.T) {
	a := ofSystem(t)
	t.Setenv("TANDEM_KAFKA_USER", "reader")
	t.Setenv("TANDEM_KAFKA_PASSWORD", "secret")
	local := net.IPv4(127, 0, 0, 1)
	config := a.sign(local, "")
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(config), kfake.EnableSASL(),
		kfake.Superuser("PLAIN", "reader", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(a.text)
	client, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...),
		kgo.DialTLSConfig(&tls.Config{RootCAs: trusted}),
		kgo.SASL(plain.Auth{User: "reader", Pass: "secret"}.AsMechanism()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "clicks"); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, topic: "clicks", client: client, sent: map[int32]int{}}
	c.send(0, 10)
	folder := t.TempDir()
	data := c.data(folder, 5)
	data.From = "kafka://" + fake.ListenAddrs()[0] + "/clicks?tls=true&sasl=plain"
	feed := start(t, data)
	until(t, func() bool { return len(users(t, folder)) == 10 })
	if err := feed.Stop(); err != nil {
		t.Error(err)
	}

	for want, config := range map[string]*tls.Config{
		"x509: certificate signed by unknown authority":   newAuthority(t).sign(local, ""),
		"x509: cannot validate certificate for 127.0.0.1": a.sign(nil, "broker.example"),
	} {
		address, received := impostor(t, config)
		data := c.data(t.TempDir(), 5)
		data.From = "kafka://" + address + "/clicks?tls=true&sasl=plain"
		_, err := datasets.StartFeed(t.Context(), data, "", nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if n := received(); n > 0 {
			t.Errorf("%d bytes were sent to a broker with the wrong certificate", n)
		}
	}
}

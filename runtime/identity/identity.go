package identity

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"tandem/algo/protocol/msg"
)

// The files of a folder.
const (
	authorityFile   = "ca.crt"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// Identity is the certificate of this process, its key, and the authorities that it believes. Its methods may
// be called from any goroutine.
type Identity struct {
	folder string
	log    func(line string)

	mu     sync.Mutex
	read   files     // as they were when they were read last
	latest *material // the latest that fits together
}

// files are the contents of a folder.
type files struct{ authorities, certificate, key []byte }

// material is what the files say.
type material struct {
	certificate tls.Certificate
	authorities *x509.CertPool
	name        *Name
}

// Open reads the certificate of a process with these roles, or of the host if there are none, from a folder,
// or from that folder in it which FolderOf names, or which is called host. log, if not nil, receives a line
// when files that have changed cannot be used.
func Open(folder string, roles []msg.Address, log func(line string)) (*Identity, error) {
	who := FolderOf(roles)
	own := filepath.Join(folder, who)
	if _, err := os.Stat(filepath.Join(folder, certificateFile)); err == nil {
		own = folder
	}
	if log == nil {
		log = func(string) {}
	}
	i := &Identity{folder: own, log: log}
	var err error
	if i.read, err = readFiles(own); err != nil {
		return nil, fmt.Errorf("%s has no certificate of %s: %w; make it with node cert", folder, who, err)
	}
	if i.latest, err = i.read.parse(); err != nil {
		return nil, fmt.Errorf("%s: %w", own, err)
	}
	if err = i.latest.name.CheckSeat(roles); err == nil && len(roles) == 0 && !i.latest.name.isHost() {
		err = fmt.Errorf("the host has the certificate of %v", i.latest.name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", own, err)
	}
	return i, nil
}

// readFiles reads the files of a folder.
func readFiles(folder string) (f files, err error) {
	for _, one := range []struct {
		name    string
		content *[]byte
	}{{authorityFile, &f.authorities}, {certificateFile, &f.certificate}, {keyFile, &f.key}} {
		if *one.content, err = os.ReadFile(filepath.Join(folder, one.name)); err != nil {
			return files{}, err
		}
	}
	return f, nil
}

// parse returns what files say. The certificate must be one that the process itself would accept.
func (f files) parse() (*material, error) {
	m := &material{authorities: x509.NewCertPool()}
	var err error
	if m.certificate, err = tls.X509KeyPair(f.certificate, f.key); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certificateFile, keyFile, err)
	}
	if !m.authorities.AppendCertsFromPEM(f.authorities) {
		return nil, errors.New(authorityFile + " has no certificate")
	}
	chain := []*x509.Certificate{m.certificate.Leaf}
	for _, der := range m.certificate.Certificate[1:] {
		between, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", certificateFile, err)
		}
		chain = append(chain, between)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if m.name, err = m.verify(chain, usage); err != nil {
			return nil, fmt.Errorf("%s: %w", certificateFile, err)
		}
	}
	return m, nil
}

// current returns what the files say now or, if they cannot be used, what they said before.
func (i *Identity) current() *material {
	now, err := readFiles(i.folder)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil || now.equal(i.read) { // a file is absent for a moment while it is replaced
		return i.latest
	}
	i.read = now
	fresh, err := now.parse()
	if err == nil && fresh.name.String() != i.latest.name.String() {
		err = fmt.Errorf("the new certificate is of %v, the one before of %v", fresh.name, i.latest.name)
	}
	if err != nil {
		i.log(fmt.Sprintf("%s has changed and cannot be used: %v; the certificate read before stays",
			i.folder, err))
		return i.latest
	}
	i.latest = fresh
	return fresh
}

func (f files) equal(g files) bool {
	return bytes.Equal(f.authorities, g.authorities) && bytes.Equal(f.certificate, g.certificate) &&
		bytes.Equal(f.key, g.key)
}

// Name returns what the certificate says.
func (i *Identity) Name() *Name { return i.current().name }

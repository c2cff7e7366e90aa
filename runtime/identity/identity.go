package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/algo/protocol/msg"
	"tandem/internal/reread"
)

// The files of a folder.
const (
	authorityFile   = "ca.crt"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// Identity is the certificate of this process, its key, and the authorities that it believes. Its methods may
// be called from any goroutine.
type Identity struct{ files *reread.Files[*material] }

// material is what the files say.
type material struct {
	certificate tls.Certificate
	authorities *x509.CertPool
	name        *Name
}

// Open reads the certificate of a process with these roles, or of the host if there are none, from a folder,
// or from that folder in it which FolderOf names. log, if not nil, receives a line when files that have
// changed cannot be used.
func Open(folder string, roles []msg.Address, log func(line string)) (*Identity, error) {
	own := filepath.Join(folder, FolderOf(roles))
	if _, err := os.Stat(filepath.Join(folder, certificateFile)); err == nil {
		own = folder
	}
	if log == nil {
		log = func(string) {}
	}
	var paths []string
	for _, name := range []string{certificateFile, keyFile, authorityFile} {
		paths = append(paths, filepath.Join(own, name))
	}
	files, err := reread.Open(paths, func(contents [][]byte) (*material, error) {
		m, err := parse(contents[0], contents[1], contents[2])
		if err == nil {
			err = m.name.checkOwn(roles)
		}
		return m, err
	}, log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no certificate of %s: %w; make it with node cert", folder,
			FolderOf(roles), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", own, err)
	}
	return &Identity{files}, nil
}

// checkOwn returns an error unless the name is that of a process with these roles, or of the host if there
// are none.
func (n *Name) checkOwn(roles []msg.Address) error {
	if len(roles) == 0 {
		return n.checkHost()
	}
	return n.CheckSeat(roles)
}

// parse returns what files say. The certificate must be one that the process itself would accept.
func parse(certificate, key, authorities []byte) (*material, error) {
	m := &material{authorities: x509.NewCertPool()}
	var err error
	if m.certificate, err = tls.X509KeyPair(certificate, key); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certificateFile, keyFile, err)
	}
	if !m.authorities.AppendCertsFromPEM(authorities) {
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

// current returns what the files said within the last second or, if they cannot be used, what they
// said before.
func (i *Identity) current() *material { return i.files.Latest() }

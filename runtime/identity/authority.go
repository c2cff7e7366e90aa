package identity

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/algo/job"
)

// Authority signs the certificates of one run.
type Authority struct {
	run         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

const (
	// authorityFolder has the certificate and the key of the authority itself.
	authorityFolder  = "authority"
	authorityKeyFile = "ca.key"
	// AuthorityYears is how long an authority is valid: it signs the certificates of one run, as long as its
	// key is kept.
	AuthorityYears = 10
	// clockSkew is how far the clock of a machine may be behind that of the one that makes a certificate.
	clockSkew = time.Hour
)

// NewAuthority makes an authority for a run. It is in memory.
func NewAuthority(run string) (*Authority, error) {
	if err := CheckRun(run); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Tandem"}, CommonName: run},
		NotBefore: now.Add(-clockSkew), NotAfter: now.AddDate(AuthorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &Authority{run, certificate, key}, err
}

// errNoAuthority is the error of a folder with neither a certificate nor a key of an authority.
var errNoAuthority = errors.New("no authority")

// KeepAuthority returns the authority of a run whose key is in a folder. If the folder has none, it makes one
// and writes it there.
func KeepAuthority(folder, run string) (*Authority, error) {
	own := filepath.Join(folder, authorityFolder)
	a, err := openAuthority(own)
	switch {
	case errors.Is(err, errNoAuthority):
		if a, err = NewAuthority(run); err != nil {
			return nil, err
		}
		return a, a.write(own)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", own, err)
	case a.run != run:
		return nil, fmt.Errorf("%s is the authority of run %s, not %s; give each run a folder of its own",
			own, a.run, run)
	}
	return a, nil
}

// openAuthority reads an authority. Half of one is an error: a new one would replace what is left.
func openAuthority(folder string) (*Authority, error) {
	text, noKey := os.ReadFile(filepath.Join(folder, authorityKeyFile))
	content, noCertificate := os.ReadFile(filepath.Join(folder, authorityFile))
	if errors.Is(noKey, fs.ErrNotExist) && errors.Is(noCertificate, fs.ErrNotExist) {
		return nil, errNoAuthority
	}
	if err := cmp.Or(noKey, noCertificate); err != nil {
		return nil, fmt.Errorf("%w; bring it back, or remove the folder to make a new authority", err)
	}
	keyBlock, _ := pem.Decode(text)
	block, _ := pem.Decode(content)
	if keyBlock == nil || block == nil {
		return nil, fmt.Errorf("%s or %s is not in the format PEM", authorityFile, authorityKeyFile)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	ours, ok := key.(*ecdsa.PrivateKey)
	if !ok || !ours.PublicKey.Equal(certificate.PublicKey) {
		return nil, fmt.Errorf("%s is not the key of %s", authorityKeyFile, authorityFile)
	}
	return &Authority{certificate.Subject.CommonName, certificate, ours}, nil
}

// write writes the authority with its key.
func (a *Authority) write(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	key, err := keyPEM(a.key)
	if err != nil {
		return err
	}
	return errors.Join(replace(filepath.Join(folder, authorityFile), a.pem()),
		replace(filepath.Join(folder, authorityKeyFile), key))
}

// Write makes a certificate for the host and one for each kind of process, and writes each to a folder of its
// own in the folder, called host or as FolderOf says. Earlier ones are replaced. It returns those folders.
// A certificate that would outlive the authority is an error.
func (a *Authority) Write(folder string, processes []job.Process, valid time.Duration) (written []string,
	err error) {
	if end := a.certificate.NotAfter; time.Now().Add(valid).After(end) {
		return nil, fmt.Errorf("the authority is valid until %s, shorter than its certificates; make them "+
			"valid for fewer days, or make a new authority in another folder",
			end.UTC().Format(time.DateTime))
	}
	for _, roles := range append([]job.Process{nil}, processes...) { // nil: the host
		own := filepath.Join(folder, FolderOf(roles))
		if slices.Contains(written, own) {
			continue
		}
		if err := a.writeOne(own, kindsOf(roles), valid); err != nil {
			return written, err
		}
		written = append(written, own)
	}
	return written, nil
}

// writeOne makes a certificate of roles, and writes it to a folder.
func (a *Authority) writeOne(folder string, kinds []string, valid time.Duration) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	var claims []claim
	for _, kind := range kinds {
		claims = append(claims, claim{kind, anyIndex})
	}
	certificate, key, err := a.sign(claims, time.Now().Add(-clockSkew), time.Now().Add(valid))
	if err != nil {
		return err
	}
	return errors.Join(replace(filepath.Join(folder, authorityFile), a.pem()),
		replace(filepath.Join(folder, keyFile), key),
		replace(filepath.Join(folder, certificateFile), certificate))
}

// sign makes a key and a certificate of it.
func (a *Authority) sign(claims []claim, from, to time.Time) (certificate, key []byte, err error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Tandem"}, CommonName: claims[0].role},
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, c := range claims {
		template.URIs = append(template.URIs, (&Name{run: a.run}).uri(c))
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, own.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyPEM(own)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, err
}

// pem returns the certificate of the authority.
func (a *Authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// replace writes a file that its owner alone can read, and that others see either as it was or whole.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-") // with rights 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

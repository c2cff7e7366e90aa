package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Reason is the kind of a refusal. Refusals are counted by it.
type Reason string

// The reasons.
const (
	Handshake Reason = "handshake"  // no TLS, another version of it, no certificate, or an end before one
	Untrusted Reason = "untrusted"  // a certificate that no authority of this process has signed
	Expired   Reason = "expired"    // a certificate that is not valid now
	OtherRun  Reason = "other run"  // a certificate of another run, or of none
	OtherRole Reason = "other role" // a certificate of other roles than those of its process
)

// Refused is why the process at the other end of a connection is refused.
type Refused struct {
	Reason Reason
	Err    error
}

// Error implements error.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refused) Unwrap() error { return r.Err }

func refusedf(reason Reason, format string, args ...any) *Refused {
	return &Refused{reason, fmt.Errorf(format, args...)}
}

// verify returns what the first certificate of a chain says, or a *Refused unless an authority has signed it
// for this use, and it names a run and roles.
func (m *material) verify(chain []*x509.Certificate, usage x509.ExtKeyUsage) (*Name, error) {
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	name, unnamed := nameOf(leaf)
	whose := "a certificate without a role"
	if unnamed == nil {
		whose = "the certificate of " + name.String()
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: m.authorities, Intermediates: between,
		KeyUsages: []x509.ExtKeyUsage{usage}})
	invalid := x509.CertificateInvalidError{}
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if invalid.Cert != leaf {
			whose = "an authority of " + whose
		}
		return nil, refusedf(Expired, "%s is valid from %s to %s, and not now; renew it with node cert",
			whose, invalid.Cert.NotBefore.UTC().Format(time.DateTime),
			invalid.Cert.NotAfter.UTC().Format(time.DateTime))
	case err != nil:
		return nil, refusedf(Untrusted, "%s is not accepted: %w", whose, err)
	case unnamed != nil:
		return nil, refusedf(OtherRun, "its certificate names no run: %w", unnamed)
	}
	return name, nil
}

// verifyPeer is verify for the process at the other end of a connection, which must be of the same run. An
// authority of several trust domains may let anyone name runs in each: so the domain must be the same, too.
func (m *material) verifyPeer(chain []*x509.Certificate, usage x509.ExtKeyUsage) (*Name, error) {
	name, err := m.verify(chain, usage)
	switch {
	case err != nil:
		return nil, err
	case name.run != m.name.run:
		return nil, refusedf(OtherRun, "the certificate of %v is of another run than %s", name, m.name.run)
	case name.domain != m.name.domain:
		return nil, refusedf(OtherRun, "the certificate of %v is of another trust domain than that of %v",
			name, m.name)
	}
	return name, nil
}

package identity

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"
)

// FuzzName reads any URIs of a certificate: they are an error, or a name whose own URIs are the same name.
func FuzzName(f *testing.F) {
	for _, text := range []string{"tandem://clicks/nn-worker",
		"tandem://clicks/host tandem://clicks/embedding-ps/3",
		"spiffe://domain.org/tandem/clicks/data-loader", "spiffe://domain.org/other https://x",
		"tandem://clicks/nn-worker/0x3 tandem://../host"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed := func(text string) *Name {
			certificate := new(x509.Certificate)
			for _, one := range strings.Fields(text) {
				if u, err := url.Parse(one); err == nil {
					certificate.URIs = append(certificate.URIs, u)
				}
			}
			n, err := nameOf(certificate)
			if err != nil {
				return nil
			}
			return n
		}
		n := parsed(text)
		if n == nil {
			return
		}
		again := parsed(strings.ReplaceAll(n.String(), ", ", " "))
		if again == nil || again.String() != n.String() {
			t.Errorf("%q is %v, and its URIs are %v", text, n, again)
		}
	})
}

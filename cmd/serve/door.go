package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"tandem/internal/cli"
	"tandem/internal/reread"
	"tandem/runtime/grpcnet"
	"tandem/runtime/metrics"
)

// doorFlags say who may ask the server.
type doorFlags struct{ certificate, key, clientCA, tokens string }

// validate returns a usage error if flags do not fit together, or if a token would travel in clear.
func (f *doorFlags) validate(addresses ...string) error {
	switch {
	case (f.certificate == "") != (f.key == ""):
		return cli.UsageError("give both", "--tls-cert and --tls-key belong together")
	case f.clientCA != "" && f.certificate == "":
		return cli.UsageError("add --tls-cert and --tls-key", "--client-ca: no TLS without a certificate")
	case f.tokens == "" || f.certificate != "":
		return nil
	}
	for _, address := range addresses {
		if address != "" && !isLoopback(address) {
			return cli.UsageError("add --tls-cert and --tls-key, or listen on 127.0.0.1",
				"--token-file: tokens would travel to %s without encryption", address)
		}
	}
	return nil
}

// isLoopback reports whether an address, HOST:PORT, can be reached only from this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// door lets in those who may ask. One without flags lets in everybody who can connect.
type door struct {
	tls    *reread.Files[*tls.Config]         // nil: no TLS
	tokens *reread.Files[[][sha256.Size]byte] // their digests; nil: none is needed

	refusals grpcnet.Refusals
	counts   metrics.Refused
}

// openDoor reads the files of a door. say receives lines about files that have changed, and the first refusal
// of each client and reason.
func openDoor(f doorFlags, say func(line string)) (d *door, err error) {
	d = &door{}
	d.refusals = grpcnet.Refusals{Log: say, Counted: d.counts.Count}
	if f.certificate != "" {
		files := []string{f.certificate, f.key}
		if f.clientCA != "" {
			files = append(files, f.clientCA)
		}
		if d.tls, err = reread.Open(files, parseTLS, say); err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key, --client-ca: %w", err)
		}
	}
	if f.tokens != "" {
		if d.tokens, err = reread.Open([]string{f.tokens}, parseTokens, say); err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
	}
	return d, nil
}

// parseTLS returns the configuration for the contents of a certificate, its key and, if there are any, the
// authorities of clients.
func parseTLS(contents [][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		NextProtos: []string{"h2", "http/1.1"}}
	if len(contents) > 2 {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(contents[2]) {
			return nil, errors.New("the authorities of clients have no certificate")
		}
	}
	return config, nil
}

// tokenMin is the length in bytes of the shortest token: 128 bits in hexadecimal.
const tokenMin = 32

// parseTokens returns the digests of the tokens in a file: one a line, but for empty lines and those that
// begin with #. Errors name the line, not what it has.
func parseTokens(contents [][]byte) (digests [][sha256.Size]byte, err error) {
	for i, line := range bytes.Split(contents[0], []byte("\n")) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case len(line) < tokenMin:
			return nil, fmt.Errorf("line %d: the token has %d bytes, want at least %d; make one with "+
				"openssl rand -hex 32", i+1, len(line), tokenMin)
		}
		digests = append(digests, sha256.Sum256(line))
	}
	if len(digests) == 0 {
		return nil, errors.New("there is no token; write one a line")
	}
	return digests, nil
}

// errToken refuses a request. Its text is the same for no token and for a wrong one.
var errToken = errors.New("this server wants a token: Authorization: Bearer TOKEN")

// admit returns errToken unless an Authorization has a token of the door. Its time does not depend on how
// much of a token is right.
func (d *door) admit(from, authorization string) error {
	if d.tokens == nil {
		return nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	digest := sha256.Sum256([]byte(token))
	right := 0
	for _, one := range d.tokens.Latest() {
		right |= subtle.ConstantTimeCompare(digest[:], one[:])
	}
	if right == 1 && strings.EqualFold(scheme, "bearer") {
		return nil
	}
	reason := "wrong token"
	if authorization == "" {
		reason = "no token"
	}
	d.refuse(from, reason, reason)
	return errToken
}

// refuse counts and logs a refusal of a client at an address.
func (d *door) refuse(from, reason, text string) {
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	d.refusals.Add(from, reason, text)
}

// protect puts an HTTP server behind the door.
func (d *door) protect(s *http.Server) {
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOpen(r.URL.Path) {
			if err := d.admit(r.RemoteAddr, r.Header.Get("Authorization")); err != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				replyError(w, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
	s.ErrorLog = log.New(httpErrors{d}, "", 0)
	if d.tls != nil {
		s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: d.newest}
	}
}

// newest returns the configuration of TLS that the files say now.
func (d *door) newest(*tls.ClientHelloInfo) (*tls.Config, error) { return d.tls.Latest(), nil }

// isOpen reports whether a path needs no token: it says only that the server lives.
func isOpen(path string) bool {
	return path == "/v2/health/live" || path == "/v2/health/ready" || path == "/healthz" || path == "/readyz"
}

// httpErrors receives the errors of an http.Server. Handshakes that fail are refusals.
type httpErrors struct{ door *door }

// Write implements io.Writer.
func (e httpErrors) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if rest, failed := strings.CutPrefix(text, "http: TLS handshake error from "); failed {
		from, why, _ := strings.Cut(rest, ": ")
		e.door.refuse(from, "handshake", why)
	} else if e.door.refusals.Log != nil {
		e.door.refusals.Log(text)
	}
	return len(line), nil
}

// admitCall returns an error of gRPC unless a call has a token of the door.
func (d *door) admitCall(ctx context.Context, header metadata.MD) error {
	from, authorization := "an unknown client", ""
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr.String()
	}
	if values := header.Get("authorization"); len(values) == 1 {
		authorization = values[0]
	}
	if err := d.admit(from, authorization); err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return nil
}

// grpcOptions are those of a gRPC server behind the door.
func (d *door) grpcOptions() []grpc.ServerOption {
	if d.tls == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.Creds(countedTLS{credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, GetConfigForClient: d.newest}), d})}
}

// countedTLS counts the handshakes that fail.
type countedTLS struct {
	credentials.TransportCredentials
	door *door
}

// ServerHandshake implements credentials.TransportCredentials.
func (c countedTLS) ServerHandshake(plain net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := c.TransportCredentials.ServerHandshake(plain)
	if err != nil {
		c.door.refuse(plain.RemoteAddr().String(), "handshake", err.Error())
	}
	return secured, info, err
}

// Clone implements credentials.TransportCredentials.
func (c countedTLS) Clone() credentials.TransportCredentials {
	return countedTLS{c.TransportCredentials.Clone(), c.door}
}

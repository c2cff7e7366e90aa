package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc/credentials"
	grpcpeer "google.golang.org/grpc/peer"

	"tandem/algo/protocol/msg"
)

// config returns the part of a configuration that both ends share. Sessions are not resumed: every connection
// is verified, with the certificates of now.
func (m *material) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.certificate},
		SessionTicketsDisabled: true, NextProtos: []string{"h2"},
		DynamicRecordSizingDisabled: true, // which would begin with small records after every pause
	}
}

// Accept makes TLS of a connection that another process has opened, and returns what its certificate says.
// The error is a *Refused unless the connection was lost.
func (i *Identity) Accept(c net.Conn) (net.Conn, *Name, error) {
	m := i.current()
	config := m.config()
	var name *Name
	config.ClientAuth = tls.RequireAnyClientCert // verified here:
	config.VerifyConnection = func(s tls.ConnectionState) (err error) {
		name, err = m.verifyPeer(s.PeerCertificates, x509.ExtKeyUsageClientAuth)
		return err
	}
	t := tls.Server(c, config)
	if err := t.Handshake(); err != nil {
		return nil, nil, asRefused(err)
	}
	return &secured{Conn: t, plain: c}, name, nil
}

// reach makes TLS of a connection to a process whose certificate must satisfy a condition. refused receives
// why this process refuses the other, or is refused by it.
func (i *Identity) reach(ctx context.Context, c net.Conn, satisfies func(*Name) error,
	refused func(error)) (net.Conn, error) {
	m := i.current()
	config := m.config()
	// A role may be on any machine. So not the name of the machine is verified, but run and role:
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(s tls.ConnectionState) error {
		name, err := m.verifyPeer(s.PeerCertificates, x509.ExtKeyUsageServerAuth)
		if err == nil {
			err = satisfies(name)
		}
		return err
	}
	t := tls.Client(c, config)
	if err := t.HandshakeContext(ctx); err != nil {
		if err = asRefused(err); errors.As(err, new(*Refused)) {
			refused(err)
		}
		return nil, err
	}
	return &secured{Conn: t, plain: c, refused: func(err error) {
		refused(refusedf(Handshake, "it refuses the certificate of %v: %w; its log says why", m.name, err))
	}}, nil
}

// asRefused returns the *Refused in an error of a handshake, or one if the other end does not begin with TLS
// 1.3 and a certificate. Other errors are those of a connection that was lost, as by a process that ends, or
// was too slow: another may succeed.
func asRefused(err error) error {
	if r := (*Refused)(nil); errors.As(err, &r) {
		return r
	}
	switch {
	case isAlert(err):
		return refusedf(Handshake, "it refuses this process: %w; its log says why", err)
	case isLost(err):
		return fmt.Errorf("TLS: %w", err)
	}
	return refusedf(Handshake, "it does not begin with TLS 1.3 and a certificate: %w; give it --tls", err)
}

// isLost reports whether an error is that of a connection that has ended, or of a time that has passed.
func isLost(err error) bool {
	of := (*net.OpError)(nil) // whose operation is "local error" if this end refuses the other
	return errors.As(err, &of) && of.Op != "local error" ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isAlert reports whether an error is an alert of the other end.
func isAlert(err error) bool {
	of := (*net.OpError)(nil)
	return errors.As(err, &of) && of.Op == "remote error"
}

// secured is a connection with TLS.
type secured struct {
	*tls.Conn
	plain   net.Conn
	refused func(error) // receives the alert with which the other end refuses this one; may be nil
}

// Read implements net.Conn. The end that connects learns here whether its certificate was accepted.
func (c *secured) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.refused = nil // it was accepted
	}
	if c.refused != nil && isAlert(err) {
		c.refused(err)
	}
	return n, err
}

// Close implements net.Conn. It does not say goodbye, as tls.Conn.Close does, which may wait for a peer that
// does not read: the end of what is sent is the end of its gRPC stream.
func (c *secured) Close() error { return c.plain.Close() }

// info is how a stream finds the name of the process at its other end.
type info struct {
	credentials.CommonAuthInfo
	name *Name
}

// AuthType implements credentials.AuthInfo.
func (info) AuthType() string { return "tls" }

// Of returns the name of the process that has opened a stream, or nil if its server has other credentials
// than those of Server.
func Of(ctx context.Context) *Name {
	p, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return nil
	}
	i, _ := p.AuthInfo.(info)
	return i.name
}

// handshakes are the credentials of gRPC with the handshakes of one end.
type handshakes struct {
	accept func(net.Conn) (net.Conn, *Name, error)
	reach  func(context.Context, net.Conn) (net.Conn, error)
}

// Server returns credentials for a server. refused receives every connection that is refused, or ends within
// its handshake, with the address from which it came.
func (i *Identity) Server(refused func(from net.Addr, why *Refused)) credentials.TransportCredentials {
	return handshakes{accept: func(c net.Conn) (net.Conn, *Name, error) {
		t, name, err := i.Accept(c)
		if err != nil {
			r := (*Refused)(nil)
			if !errors.As(err, &r) {
				r = refusedf(Handshake, "it ended without an introduction: %w", err)
			}
			refused(c.RemoteAddr(), r)
		}
		return t, name, err
	}}
}

// Client returns credentials for connections to a process with these roles or, if there are none, to the
// host. refused receives why this process refuses the one that it has reached, or is refused by it.
func (i *Identity) Client(roles []msg.Address, refused func(error)) credentials.TransportCredentials {
	satisfies := func(n *Name) error { return n.CheckRoles(roles) }
	if len(roles) == 0 {
		satisfies = (*Name).checkHost
	}
	return handshakes{reach: func(ctx context.Context, c net.Conn) (net.Conn, error) {
		return i.reach(ctx, c, satisfies, refused)
	}}
}

// ClientHandshake implements credentials.TransportCredentials.
func (h handshakes) ClientHandshake(ctx context.Context, _ string, c net.Conn) (net.Conn,
	credentials.AuthInfo, error) {
	t, err := h.reach(ctx, c)
	return t, info{CommonAuthInfo: private}, err
}

// ServerHandshake implements credentials.TransportCredentials.
func (h handshakes) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	t, name, err := h.accept(c)
	return t, info{private, name}, err
}

var private = credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}

// Info implements credentials.TransportCredentials.
func (handshakes) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (h handshakes) Clone() credentials.TransportCredentials { return h }

// OverrideServerName implements credentials.TransportCredentials. The name of a server plays no part.
func (handshakes) OverrideServerName(string) error {
	return errors.New("identity: servers have no name")
}

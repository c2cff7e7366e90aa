// Package identity says who a process of a run is, by a certificate, and lets in only processes of its run.
//
// A certificate names the run and the roles that its process may play, in URIs:
//
//	tandem://RUN/ROLE             any process of this role; ROLE is host or that of a job, as nn-worker
//	tandem://RUN/ROLE/INDEX       at the host, only the process that was started with this index
//	spiffe://DOMAIN/tandem/RUN/ROLE[/INDEX]   the same, as an issuer of SPIFFE writes it
//
// The INDEX binds at the host only. Other processes accept any index of the role, since a part of a run that
// goes on without some processes numbers its roles otherwise.
//
// A process that plays several roles has a certificate with a URI for each. An SVID of SPIFFE has one URI,
// and so it cannot serve such a process. Scheme and DOMAIN are those of all processes of the run. Names of
// machines play no part: roles move between machines, and a certificate is as good on each.
//
//	own, err := identity.Open("certificates", roles, log) // of this process
//	grpc.Creds(own.Server(refused))                       // accepts processes of the run
//	grpc.WithTransportCredentials(own.Client(nil, refused)) // reaches only the host of the run
//	name := identity.Of(stream.Context())                 // of the process at the other end
//
// # Promises
//
//  1. Every connection is TLS 1.3. Both ends have shown a certificate that an authority of ca.crt has signed,
//     that is valid now, and that names the same run and, of SPIFFE, the same trust domain. The end that
//     connects has also checked the role.
//  2. The end that accepts knows the roles of the other (Of). It must compare them with what the process
//     says of itself: see packages member and transport.
//  3. A connection that is refused gets a *Refused with a Reason, one of a fixed set.
//  4. The files are read again for connections, once a second, so that a certificate that was replaced is
//     used a second later. Connections that are open stay open, also when their certificate expires. Files
//     that do not fit together, as while they are being replaced, change nothing.
//
// # Files
//
// A folder has ca.crt, the certificates of the authorities, tls.crt, that of the process with those between
// it and an authority, and tls.key, its key. These are the names in a Secret of Kubernetes that cert-manager
// keeps; spiffe-helper takes them as settings. An Authority writes such a folder for each process of a job,
// and its own key apart from them.
package identity

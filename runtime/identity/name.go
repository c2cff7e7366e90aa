package identity

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/protocol/msg"
)

// Host is the name of the host's role, which is none of a job.
const Host = "host"

// anyIndex is the index of a role in a certificate that is good for all indices.
const anyIndex = -1

// claim is one role in a certificate.
type claim struct {
	role  string
	index int32 // or anyIndex
}

// Name is what a certificate says of its process.
type Name struct {
	domain string // the trust domain of SPIFFE; "" for a URI of scheme tandem
	run    string
	claims []claim
}

// String returns the URIs of the name.
func (n *Name) String() string {
	var all []string
	for _, c := range n.claims {
		all = append(all, n.uri(c).String())
	}
	return strings.Join(all, ", ")
}

// uri returns the URI of a claim.
func (n *Name) uri(c claim) *url.URL {
	path := "/" + c.role
	if c.index != anyIndex {
		path += "/" + strconv.Itoa(int(c.index))
	}
	if n.domain != "" {
		return &url.URL{Scheme: "spiffe", Host: n.domain, Path: "/tandem/" + n.run + path}
	}
	return &url.URL{Scheme: "tandem", Host: n.run, Path: path}
}

// CheckSeat returns a *Refused unless the certificate is good for a process that was started with these
// roles. A nil Name is good for none.
func (n *Name) CheckSeat(roles []msg.Address) error {
	return n.check(roles, func(c claim, at msg.Address) bool {
		return c.role == at.Role.String() && (c.index == anyIndex || c.index == at.Index)
	})
}

// CheckRoles is CheckSeat with roles that may have other indices than those with which the process was
// started: they do in a part of a run that goes on without some processes.
func (n *Name) CheckRoles(roles []msg.Address) error {
	return n.check(roles, func(c claim, at msg.Address) bool { return c.role == at.Role.String() })
}

func (n *Name) check(roles []msg.Address, covers func(claim, msg.Address) bool) error {
	if n == nil {
		return refusedf(Handshake, "%v shows no certificate", roles)
	}
	for _, at := range roles {
		if !slices.ContainsFunc(n.claims, func(c claim) bool { return covers(c, at) }) {
			return refusedf(OtherRole, "%v has the certificate of %v; give it its own, which node cert makes",
				at, n)
		}
	}
	return nil
}

// checkHost returns a *Refused unless the certificate is that of a host.
func (n *Name) checkHost() error {
	if !slices.ContainsFunc(n.claims, func(c claim) bool { return c.role == Host }) {
		return refusedf(OtherRole, "the host has the certificate of %v", n)
	}
	return nil
}

// runs matches the names of runs, which are hosts of URIs.
var runs = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// CheckRun returns an error unless a run may have this name.
func CheckRun(run string) error {
	if !runs.MatchString(run) || strings.Contains(run, "..") {
		return fmt.Errorf("run %q; want lower-case letters, digits, dots and dashes, at most 63", run)
	}
	return nil
}

// nameOf returns what a certificate says of its process. Other URIs than ours are ignored.
func nameOf(certificate *x509.Certificate) (*Name, error) {
	n := &Name{}
	for _, u := range certificate.URIs {
		domain, run, path := "", u.Host, strings.TrimPrefix(u.Path, "/")
		switch u.Scheme {
		case "tandem":
		case "spiffe":
			rest, ours := strings.CutPrefix(path, "tandem/")
			if !ours {
				continue
			}
			domain = u.Host
			if run, path, _ = strings.Cut(rest, "/"); domain == "" {
				return nil, fmt.Errorf("%.200q has no trust domain", u)
			}
		default:
			continue
		}
		c, err := parseClaim(path)
		if err != nil || CheckRun(run) != nil || n.run != "" && (n.run != run || n.domain != domain) {
			return nil, fmt.Errorf("%.200q does not name a role of one run, as tandem://RUN/nn-worker", u)
		}
		n.domain, n.run, n.claims = domain, run, append(n.claims, c)
	}
	if n.run == "" {
		return nil, fmt.Errorf("none of its %d URIs is tandem://RUN/ROLE", len(certificate.URIs))
	}
	return n, nil
}

// parseClaim parses ROLE or ROLE/INDEX.
func parseClaim(text string) (c claim, err error) {
	role, index, indexed := strings.Cut(text, "/")
	known := role == Host || slices.ContainsFunc(msg.Roles(), func(r msg.Role) bool {
		return r.String() == role
	})
	if c = (claim{role, anyIndex}); !known {
		return c, fmt.Errorf("role %.40q is unknown", role)
	}
	if indexed {
		i, err := strconv.ParseUint(index, 10, 31)
		if err != nil {
			return c, err
		}
		c.index = int32(i)
	}
	return c, nil
}

// FolderOf returns the name of the folder with the certificate of a process with these roles, or of the host
// if there are none: the kinds of the roles with dots between them, as embedding-worker.nn-worker.
func FolderOf(roles []msg.Address) string {
	return strings.Join(kindsOf(roles), ".")
}

// kindsOf returns the names of the kinds of roles, each once; that of the host if there are none.
func kindsOf(roles []msg.Address) (kinds []string) {
	if len(roles) == 0 {
		return []string{Host}
	}
	for _, at := range roles {
		kinds = append(kinds, at.Role.String())
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

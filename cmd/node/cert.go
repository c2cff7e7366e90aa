package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/runtime/identity"
)

const certUsage = `Make a certificate for the host and for each kind of process of a job, and an
authority that signs them.

A folder for each has ca.crt, tls.crt and tls.key. Give a machine only those
that its processes need; the folder itself, or the one of a role in it, is what
--tls takes. The key of the authority, in the folder authority, stays where it
is: it is needed only to make certificates.

Made again, certificates are new and the authority stays. Processes use the new
ones within a second, so a run goes on while they are replaced.

Other issuers do as well, such as cert-manager and SPIFFE. A certificate must
have a URI tandem://RUN/ROLE, tandem://RUN/ROLE/INDEX or
spiffe://DOMAIN/tandem/RUN/ROLE for each role of its process, where ROLE is host
or that of a process, as nn-worker. --tls then takes the folder in which their
files lie under the names above. An INDEX binds at the host only: other
processes accept any index of the role. All processes must be of one DOMAIN.
An SVID of SPIFFE has one URI: it cannot serve a process of several roles.`

const certExamples = `  node cert --file job.yaml --run clicks --out certificates
  node host --file job.yaml --tls certificates
  node embedding-ps --file job.yaml --tls certificates`

const (
	day     = 24 * time.Hour // the unit of --days
	daysMax = 365 * identity.AuthorityYears
)

func (p *program) certCommand() *cobra.Command {
	var f flags
	var out, run string
	var days int
	c := &cobra.Command{
		Use: "cert", Short: "Make certificates for the processes of a job", Long: certUsage,
		Example: certExamples, Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case out == "":
				return cli.UsageError("add --out FOLDER", "no folder for the certificates")
			case run == "":
				return cli.UsageError("add --run NAME", "no name of the run")
			case days < 1 || days > daysMax:
				return cli.UsageError("see --help", "--days: %d; want 1 to %d, as the authority lives for "+
					"%d years", days, daysMax, identity.AuthorityYears)
			}
			if err := identity.CheckRun(run); err != nil {
				return cli.UsageError("choose another name", "--run: %v", err)
			}
			j, _, err := f.load()
			if err != nil {
				return err
			}
			return p.makeCertificates(j, out, run, time.Duration(days)*day)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&out, "out", "", "write them to this `FOLDER`")
	fs.StringVar(&run, "run", "", "let them be of the run with this `NAME`: a process joins no other run")
	fs.IntVar(&days, "days", 90, "let them be valid for this number of `DAYS`")
	fs.StringVarP(&f.file, "file", "f", "", "make them for the processes of the job in this YAML `FILE` "+
		"(default: the census income job)")
	f.placementFlag(fs)
	return c
}

// makeCertificates makes the certificates of a job's processes, and prints where they are.
func (p *program) makeCertificates(j job.Job, folder, run string, valid time.Duration) error {
	processes, err := j.Processes()
	if err != nil {
		return err
	}
	authority, err := identity.KeepAuthority(folder, run)
	if err != nil {
		return err
	}
	written, err := authority.Write(folder, processes, valid)
	for _, own := range written {
		fmt.Fprintln(p.stdout, own)
	}
	return err
}

// identity opens the certificate of this process, which is the host if it has no roles; nil if --tls is not
// given.
func (p *program) identity(f flags, roles job.Process) (*identity.Identity, error) {
	if f.tls == "" {
		return nil, nil
	}
	own, err := identity.Open(f.tls, roles, func(line string) { fmt.Fprintf(p.stderr, "node: %s\n", line) })
	if err != nil {
		return nil, fmt.Errorf("--tls: %w", err)
	}
	return own, nil
}

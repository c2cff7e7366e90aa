// Package launch has a training run in processes of their own: it hosts the run
// and, on one machine, starts and stops a process for every role.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"tandem/algo/batch"
	"tandem/algo/job"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/runtime/coord"
	"tandem/runtime/live"
	"tandem/runtime/node"
	"tandem/runtime/train"
)

// Options describe a run in processes.
type Options struct {
	Listen   string // HOST:PORT of the host; port 0 is any free one
	Training job.Training
	Job      []byte // fingerprint of the resolved job
	Data     []byte // fingerprint of its data files
	// Command returns the program and arguments that play a role, for a host that
	// listens at an address. Nil: the processes are started by others.
	Command func(at msg.Address, host string) []string
	// Recorder, if not nil, keeps what happens to the role in this process, if there
	// is one; Command has the others recorded.
	Recorder live.Recorder
	// Environment of the processes, in addition to this one's, as KEY=VALUE.
	Environment []string
	// Gathering, if not nil, is told the roles that have yet to join.
	Gathering func(host string, missing []msg.Address)
}

// Cluster is a train.Cluster. It is for one run.
type Cluster struct {
	*coord.Host
	options   Options
	processes []*process
	own       sync.WaitGroup // the role in this process, if there is one
	leave     context.CancelFunc
}

// New returns the processes of a run, before their start.
func New(o Options) *Cluster { return &Cluster{options: o, leave: func() {}} }

// Train implements train.Cluster.
func (c *Cluster) Train(ctx context.Context, cfg *role.Config, schema *batch.Schema, watch train.ClusterWatch) error {
	listener, err := Listen(c.options.Listen)
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	plan := coord.Plan{Job: c.options.Job, Data: c.options.Data, Schema: schema, Steps: int(cfg.Steps)}
	for _, r := range role.New(cfg) {
		plan.Roles = append(plan.Roles, r.Address())
	}
	c.Host = coord.NewHost(listener, plan)
	run, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if err := c.start(run, plan.Roles, address, fail); err != nil {
		return err
	}
	err = c.Host.Train(run, coord.Watch{ClusterWatch: watch, Gathering: func(missing []msg.Address) {
		if c.options.Gathering != nil {
			c.options.Gathering(address, missing)
		}
	}})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the run was interrupted: %w", context.Cause(ctx))
	}
	return err
}

// Listen listens for the roles of a run.
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s for the roles: %w; choose another port", address, syscall.EADDRINUSE)
	}
	return listener, err
}

// start starts the processes of all roles. Coordinator, the role, is part of the
// host.
func (c *Cluster) start(ctx context.Context, roles []msg.Address, host string, fail context.CancelCauseFunc) error {
	for _, at := range roles {
		if at.Role == msg.Coordinator {
			c.play(ctx, at, host, fail)
			continue
		}
		if c.options.Command == nil {
			continue
		}
		p, err := startProcess(at, c.options.Command(at, host), c.options.Environment, fail)
		if err != nil {
			return fmt.Errorf("cannot start %v: %w", at, err)
		}
		c.processes = append(c.processes, p)
	}
	return nil
}

// play has a role in this process.
func (c *Cluster) play(ctx context.Context, at msg.Address, host string, fail context.CancelCauseFunc) {
	own, _, _ := net.SplitHostPort(host) // the listener's: it can be split
	ctx, c.leave = context.WithCancel(context.WithoutCancel(ctx))
	c.own.Go(func() {
		err := node.Run(ctx, node.Config{
			Role: at, Listen: net.JoinHostPort(own, "0"), Coordinator: host, Patience: time.Second,
			Job: c.options.Job, Training: c.options.Training, Recorder: c.options.Recorder,
		})
		if err != nil {
			fail(err)
		}
	})
}

// Close implements train.Cluster.
func (c *Cluster) Close(failed error) {
	if c.Host != nil {
		c.Host.Close(failed)
	}
	var leaving sync.WaitGroup
	for _, p := range c.processes {
		leaving.Go(p.end)
	}
	leaving.Wait()
	c.leave()
	c.own.Wait()
}

var _ train.Cluster = (*Cluster)(nil)

// Waiting returns a Gathering that writes, once and a line each, what a person
// who starts the processes by hand needs to know.
func Waiting(w io.Writer) func(host string, missing []msg.Address) {
	before := 0
	return func(host string, missing []msg.Address) {
		if before == 0 {
			fmt.Fprintf(w, "waiting for %d roles at %s\n", len(missing), host)
		} else if len(missing) < before {
			fmt.Fprintf(w, "%d more; next: %v\n", len(missing), missing[0])
		}
		before = len(missing)
	}
}

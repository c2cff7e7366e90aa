package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"

	"tandem/internal/cli"
)

// The limits of a connection: a client that sends nothing must not keep one.
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	headerMax  = 64 << 10
	// replyTime is how long a client may take to read the answer of a request that took all of --max-time.
	replyTime = 10 * time.Second
	// stopTime is how long requests under way may take when the server ends.
	stopTime = 10 * time.Second
)

// servers are the HTTP server and, if there is one, the gRPC server.
type servers struct {
	http         *http.Server
	grpc         *grpc.Server // nil: none
	httpListener net.Listener
	grpcListener net.Listener
}

// listen makes the servers, and takes their ports.
func (a *servers) listen(s *service, d *door, flags settings) (err error) {
	a.http = &http.Server{Handler: s.handler(int64(flags.requestMax)), ReadHeaderTimeout: headerTime,
		ReadTimeout: s.timeMax, WriteTimeout: s.timeMax + replyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerMax}
	d.protect(a.http)
	if a.httpListener, err = net.Listen("tcp", flags.http); err != nil {
		return &cli.Error{Err: err, Hint: "choose another --http HOST:PORT"}
	}
	if flags.grpc == "" {
		return nil
	}
	if a.grpcListener, err = net.Listen("tcp", flags.grpc); err != nil {
		return &cli.Error{Err: err, Hint: "choose another --grpc HOST:PORT"}
	}
	a.grpc = newGRPCServer(s, d, flags.requestMax)
	return nil
}

// scheme returns that of URLs of the HTTP server.
func (a *servers) scheme() string {
	if a.http.TLSConfig != nil {
		return "https"
	}
	return "http"
}

// grpcText names the address of gRPC, if there is one.
func (a *servers) grpcText() string {
	if a.grpc == nil {
		return ""
	}
	return fmt.Sprintf(", gRPC at %v", a.grpcListener.Addr())
}

// run answers requests until ctx ends, and then ends after the requests under way.
func (a *servers) run(ctx context.Context) error {
	failed := make(chan error, 2)
	go func() {
		if a.http.TLSConfig != nil {
			failed <- a.http.ServeTLS(a.httpListener, "", "")
		} else {
			failed <- a.http.Serve(a.httpListener)
		}
	}()
	if a.grpc != nil {
		go func() { failed <- a.grpc.Serve(a.grpcListener) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var all sync.WaitGroup
	if a.grpc != nil {
		all.Go(func() {
			context.AfterFunc(stopping, a.grpc.Stop)
			a.grpc.GracefulStop()
		})
	}
	err := a.http.Shutdown(stopping)
	all.Wait()
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("requests under way took longer than %v, and were ended", stopTime)
	}
	return err
}

// close ends the servers at once, with the requests that are still under way.
func (a *servers) close() {
	if a.http != nil {
		a.http.Close()
	}
	if a.grpc != nil {
		a.grpc.Stop()
	}
	for _, l := range []net.Listener{a.httpListener, a.grpcListener} {
		if l != nil {
			l.Close()
		}
	}
}

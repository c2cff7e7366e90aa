package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// Server serves the metrics of a process until Close.
type Server struct {
	listener net.Listener
	server   http.Server
	scheme   string // of its URL
	started  time.Time
	notReady atomic.Pointer[string]
}

// Serve answers on HOST:PORT, where port 0 is any free one. collect adds values to a snapshot; several
// goroutines may call it. Profiles are for clients on this machine alone. Each of change may alter the
// server, such as its handler and its TLS.
func Serve(address, program, commit string, collect func(*Snapshot),
	change ...func(*http.Server)) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		var call *os.SyscallError // the rest of the error repeats the address
		if errors.As(err, &call) {
			err = call.Err
		}
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	s := &Server{listener: listener, started: time.Now()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var all Snapshot
		s.process(&all, program, commit)
		collect(&all)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = all.Write(w) // a client that is gone is not a reason to stop
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", s.ready)
	for path, profile := range map[string]http.HandlerFunc{"": pprof.Index, "cmdline": pprof.Cmdline,
		"profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace} {
		mux.HandleFunc("/debug/pprof/"+path, onlyHere(profile))
	}
	s.server = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	for _, c := range change {
		c(&s.server)
	}
	if s.scheme = "http"; s.server.TLSConfig == nil {
		go s.server.Serve(listener)
	} else {
		s.scheme = "https"
		go s.server.ServeTLS(listener, "", "")
	}
	return s, nil
}

// onlyHere answers only clients on this machine: profiles take time, and say much about a process.
func onlyHere(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are for clients on this machine, at 127.0.0.1", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// ready answers /readyz: with status 200, or with 503 and what the process waits for.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	answer := "ok"
	if why := s.notReady.Load(); why != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer = *why
	}
	fmt.Fprintln(w, answer)
}

// SetReady makes /readyz answer ok, as it does at first. A nil Server ignores it.
func (s *Server) SetReady() {
	if s != nil {
		s.notReady.Store(nil)
	}
}

// SetNotReady makes /readyz answer with status 503 and what the process waits for. A nil Server ignores it.
func (s *Server) SetNotReady(why string) {
	if s != nil {
		s.notReady.Store(&why)
	}
}

// URL returns the address of the metrics.
func (s *Server) URL() string { return s.scheme + "://" + s.listener.Addr().String() + "/metrics" }

// Close stops serving at once.
func (s *Server) Close() error { return s.server.Close() }

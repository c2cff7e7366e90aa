package serving

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"tandem/runtime/grpcnet"
	"tandem/runtime/inference/oip"
)

// client sends requests one after another.
type client interface {
	// ask sends a request, and returns the predictions.
	ask(request []byte) ([]float32, error)
	io.Closer
}

// measured is what clients have measured together.
type measured struct {
	seconds float64
	latency []time.Duration // of the requests, ascending
}

// load lets clients send requests for some time.
func load(ctx context.Context, connect func() (client, error), clients int, requests [][]byte,
	length time.Duration) (*measured, error) {
	all := make([]client, clients)
	for i := range all {
		c, err := connect()
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if _, err := c.ask(requests[0]); err != nil { // connects, and is not measured
			return nil, err
		}
		all[i] = c
	}
	var wait sync.WaitGroup
	latencies, errs := make([][]time.Duration, clients), make([]error, clients)
	begin := time.Now()
	for i, c := range all {
		wait.Go(func() {
			for next := i; time.Since(begin) < length && ctx.Err() == nil; next++ {
				sent := time.Now()
				if _, errs[i] = c.ask(requests[next%len(requests)]); errs[i] != nil {
					return
				}
				latencies[i] = append(latencies[i], time.Since(sent))
			}
		})
	}
	wait.Wait()
	m := &measured{seconds: time.Since(begin).Seconds(), latency: slices.Concat(latencies...)}
	slices.Sort(m.latency)
	return m, errors.Join(append(errs, ctx.Err())...)
}

// quantile returns a quantile of the latencies in ms.
func (m *measured) quantile(q float64) float64 {
	at := int(math.Ceil(q*float64(len(m.latency)))) - 1
	return float64(m.latency[max(at, 0)]) / float64(time.Millisecond)
}

// httpClient is a connection whose requests are complete HTTP messages.
type httpClient struct {
	net.Conn
	in  *bufio.Reader
	raw bool
}

func dialHTTP(address string, raw bool) (client, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &httpClient{c, bufio.NewReader(c), raw}, nil
}

func (c *httpClient) ask(request []byte) ([]float32, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.300s", r.Status, body)
	}
	if c.raw {
		var size int
		if _, err := fmt.Sscan(r.Header.Get("Inference-Header-Content-Length"), &size); err != nil {
			return nil, err
		}
		return numbersOf(body[size:]), nil
	}
	var answer struct{ Outputs []struct{ Data []float32 } }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	return answer.Outputs[0].Data, nil
}

// grpcClient is a connection whose requests are encoded messages.
type grpcClient struct{ *grpc.ClientConn }

func dialGRPC(address string) (client, error) {
	c, err := grpcnet.NewClient(address, grpcnet.Limits{Message: 1 << 26, Headers: 1 << 16})
	if err != nil {
		return nil, err
	}
	return grpcClient{c}, nil
}

func (c grpcClient) ask(request []byte) ([]float32, error) {
	q, a := new(oip.ModelInferRequest), new(oip.ModelInferResponse)
	if err := proto.Unmarshal(request, q); err != nil {
		return nil, err
	}
	err := c.Invoke(context.Background(), "/inference.GRPCInferenceService/ModelInfer", q, a)
	if err != nil {
		return nil, err
	}
	return numbersOf(a.RawOutputContents[0]), nil
}

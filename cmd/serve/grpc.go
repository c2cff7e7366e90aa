package main

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"tandem/internal/cli"
	"tandem/runtime/grpcnet"
	"tandem/runtime/inference"
	"tandem/runtime/inference/oip"
)

// The limits of a gRPC connection.
const (
	streamsMax = 1000 // requests of a connection at a time
	streamSize = 1 << 20
)

// newGRPCServer returns a server of the gRPC service inference.GRPCInferenceService behind a door, for
// requests of at most a number of bytes.
func newGRPCServer(s *service, d *door, requestMax int) *grpc.Server {
	server := grpcnet.NewServer(grpcnet.Limits{Message: requestMax, Headers: headerMax, Window: streamSize,
		Handshake: headerTime, Idle: idleTime}, append(d.grpcOptions(), grpc.MaxConcurrentStreams(streamsMax),
		grpc.InTapHandle(func(ctx context.Context, call *tap.Info) (context.Context, error) {
			if err := d.admitCall(ctx, call.Header); err != nil {
				return nil, err
			}
			return s.begin(ctx)
		}))...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "inference.GRPCInferenceService",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			method("ServerLive", (*service).serverLive), method("ServerReady", (*service).serverReady),
			method("ModelReady", (*service).modelReady),
			method("ServerMetadata", (*service).serverMetadata),
			method("ModelMetadata", (*service).modelMetadata), method("ModelInfer", (*service).modelInfer),
		},
	}, s)
	return server
}

// begin begins a call before its request is read, so that its memory and its time are bounded. The end of
// ctx, which is that of the call, ends it.
func (s *service) begin(ctx context.Context) (context.Context, error) {
	leave, err := s.enter()
	if err != nil {
		s.counts.answered("grpc", codes.Unavailable.String(), 0, 0)
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	bounded, cancel := context.WithTimeoutCause(ctx, s.timeMax, errSlow)
	context.AfterFunc(ctx, func() {
		cancel()
		leave()
	})
	return bounded, nil
}

// method describes a method with one request and one answer.
func method[Q, A any](name string,
	call func(s *service, ctx context.Context, q *Q) (*A, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(s any, ctx context.Context,
		decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		q := new(Q)
		if err := decode(q); err != nil {
			return nil, err
		}
		a, err := call(s.(*service), ctx, q)
		if err != nil {
			return nil, status.Error(codeOf(err), err.Error())
		}
		return a, nil
	}}
}

// codeOf returns the status of an error.
func codeOf(err error) codes.Code {
	switch {
	case err == nil:
		return codes.OK
	case errors.Is(err, errInvalid):
		return codes.InvalidArgument
	case errors.Is(err, errUnknown):
		return codes.NotFound
	case errors.Is(err, inference.ErrBusy), errors.Is(err, errEnding):
		return codes.Unavailable
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSlow):
		return codes.DeadlineExceeded
	}
	return codes.Internal
}

func (s *service) serverLive(context.Context, *oip.ServerLiveRequest) (*oip.ServerLiveResponse, error) {
	return &oip.ServerLiveResponse{Live: true}, nil
}

func (s *service) serverReady(context.Context, *oip.ServerReadyRequest) (*oip.ServerReadyResponse, error) {
	return &oip.ServerReadyResponse{Ready: true}, nil
}

func (s *service) modelReady(_ context.Context, q *oip.ModelReadyRequest) (*oip.ModelReadyResponse, error) {
	_, err := s.describe(q.Name, q.Version)
	return &oip.ModelReadyResponse{Ready: err == nil}, err
}

func (s *service) serverMetadata(context.Context, *oip.ServerMetadataRequest) (*oip.ServerMetadataResponse,
	error) {
	return &oip.ServerMetadataResponse{Name: "tandem", Version: cli.Commit()}, nil
}

func (s *service) modelMetadata(_ context.Context, q *oip.ModelMetadataRequest) (*oip.ModelMetadataResponse,
	error) {
	d, err := s.describe(q.Name, q.Version)
	if err != nil {
		return nil, err
	}
	tensors := func(columns []column) (all []*oip.ModelMetadataResponse_TensorMetadata) {
		for _, c := range columns {
			all = append(all, &oip.ModelMetadataResponse_TensorMetadata{Name: c.Name, Datatype: c.Datatype,
				Shape: c.Shape})
		}
		return all
	}
	return &oip.ModelMetadataResponse{Name: d.Name, Versions: d.Versions, Platform: d.Platform,
		Inputs: tensors(d.Inputs), Outputs: tensors(d.Outputs)}, nil
}

func (s *service) modelInfer(ctx context.Context, in *oip.ModelInferRequest) (*oip.ModelInferResponse,
	error) {
	begin, rows := time.Now(), 0
	out, err := s.inferGRPC(ctx, in)
	if err == nil {
		rows = int(out.Outputs[0].Shape[0])
	}
	s.counts.answered("grpc", codeOf(err).String(), time.Since(begin), rows)
	return out, err
}

func (s *service) inferGRPC(ctx context.Context, in *oip.ModelInferRequest) (*oip.ModelInferResponse,
	error) {
	inputs, err := tensorsOf(in)
	if err != nil {
		return nil, err
	}
	q := &request{model: in.ModelName, version: in.ModelVersion, inputs: inputs}
	for _, o := range in.Outputs {
		q.outputs = append(q.outputs, o.GetName())
	}
	a, err := s.infer(ctx, q)
	if err != nil {
		return nil, err
	}
	shape := []int64{int64(len(a.predictions) / a.labels), int64(a.labels)}
	return &oip.ModelInferResponse{ModelName: in.ModelName, ModelVersion: a.version, Id: in.Id,
		Outputs: []*oip.ModelInferResponse_InferOutputTensor{{Name: output, Datatype: datatypeFP32,
			Shape: shape}},
		RawOutputContents: [][]byte{rawNumbers(a.predictions)}}, nil
}

// tensorsOf returns the inputs of a request, whose values are bytes for all of them or typed for all.
func tensorsOf(in *oip.ModelInferRequest) ([]tensor, error) {
	raw := len(in.RawInputContents) > 0
	if raw && len(in.RawInputContents) != len(in.Inputs) {
		return nil, refuse(errInvalid, "%d raw_input_contents for %d inputs", len(in.RawInputContents),
			len(in.Inputs))
	}
	inputs := make([]tensor, len(in.Inputs))
	for i, t := range in.Inputs {
		inputs[i] = tensor{name: t.GetName(), datatype: t.GetDatatype(), shape: t.GetShape(), isRaw: raw,
			typed: t.GetContents()}
		switch {
		case raw && inputs[i].typed != nil:
			return nil, refuse(errInvalid, "input %q: contents and raw_input_contents", t.GetName())
		case raw:
			inputs[i].raw = in.RawInputContents[i]
		case inputs[i].typed == nil:
			return nil, refuse(errInvalid, "input %q has no contents", t.GetName())
		}
	}
	return inputs, nil
}

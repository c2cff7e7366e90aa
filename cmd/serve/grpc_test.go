package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tandem/internal/pythontest"
	"tandem/runtime/inference/oip"
)

// dial returns a client of a gRPC server.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// inferRequest returns a request for rows, with typed values.
func inferRequest(users, tags []string, prices []float32) *oip.ModelInferRequest {
	texts := func(name string, values []string) *oip.ModelInferRequest_InferInputTensor {
		c := &oip.InferTensorContents{}
		for _, value := range values {
			c.BytesContents = append(c.BytesContents, []byte(value))
		}
		return &oip.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatypeBytes,
			Shape: []int64{int64(len(values)), 1}, Contents: c}
	}
	return &oip.ModelInferRequest{ModelName: "tandem", Id: "r1",
		Inputs: []*oip.ModelInferRequest_InferInputTensor{texts("user", users), texts("tags", tags),
			{Name: "price", Datatype: datatypeFP32, Shape: []int64{int64(len(prices))},
				Contents: &oip.InferTensorContents{Fp32Contents: prices}}}}
}

// asRaw returns a request with its values as bytes.
func asRaw(q *oip.ModelInferRequest) *oip.ModelInferRequest {
	q = proto.Clone(q).(*oip.ModelInferRequest)
	for _, in := range q.Inputs {
		raw := rawNumbers(in.Contents.Fp32Contents)
		for _, text := range in.Contents.BytesContents {
			raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(text))), text...)
		}
		q.RawInputContents, in.Contents = append(q.RawInputContents, raw), nil
	}
	return q
}

// answered returns the predictions of an answer.
func answered(a *oip.ModelInferResponse) (all []float32) {
	for raw := a.RawOutputContents[0]; len(raw) > 0; raw = raw[4:] {
		all = append(all, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return all
}

const servicePath = "/inference.GRPCInferenceService/"

// Answers by gRPC are the predictions for the same rows of a file, with typed values and with bytes.
func TestGRPCAnswers(t *testing.T) {
	table, folder := save(t)
	want := expected(t, table, folder)
	_, address, stop := startBoth(t, folder)
	client := dial(t, address)
	typed := inferRequest(columns(t, table))
	for _, q := range []*oip.ModelInferRequest{typed, asRaw(typed)} {
		a := new(oip.ModelInferResponse)
		if err := client.Invoke(t.Context(), servicePath+"ModelInfer", q, a); err != nil {
			t.Fatal(err)
		}
		got := answered(a)
		if a.Id != "r1" || a.ModelName != "tandem" || !slices.Equal(got, want) ||
			!slices.Equal(a.Outputs[0].Shape, []int64{int64(len(want)), 1}) {
			t.Errorf("%.300v, want %v", a, want)
		}
	}
	meta := new(oip.ModelMetadataResponse)
	if err := client.Invoke(t.Context(), servicePath+"ModelMetadata",
		&oip.ModelMetadataRequest{Name: "tandem"}, meta); err != nil || len(meta.Inputs) != 3 ||
		meta.Inputs[2].Name != "price" || !slices.Equal(meta.Outputs[0].Shape, []int64{-1, 1}) {
		t.Errorf("%v, error %v", meta, err)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d after an interrupt", code)
	}
}

// Every wrong request has a status and names what is wrong.
func TestGRPCRefusals(t *testing.T) {
	_, folder := save(t)
	_, address, _ := startBoth(t, folder, "--max-request", "2000", "--max-rows", "2")
	client := dial(t, address)
	for _, c := range []struct {
		change func(q *oip.ModelInferRequest)
		code   codes.Code
		want   string
	}{
		{func(*oip.ModelInferRequest) {}, codes.OK, ""},
		{func(q *oip.ModelInferRequest) { q.ModelName = "other" }, codes.NotFound,
			`model "other" is unknown`},
		{func(q *oip.ModelInferRequest) { q.ModelVersion = "7" }, codes.NotFound, `version "7" is unknown`},
		{func(q *oip.ModelInferRequest) { q.Inputs = q.Inputs[1:] }, codes.InvalidArgument,
			`input "user" is missing`},
		{func(q *oip.ModelInferRequest) { q.Inputs[1] = nil }, codes.InvalidArgument,
			`input "" has no contents`},
		{func(q *oip.ModelInferRequest) { q.Inputs[2].Datatype = "FP64" }, codes.InvalidArgument,
			`input "price": 0 values, and the shape says 1`},
		{func(q *oip.ModelInferRequest) { q.Inputs[2].Datatype = "FP16" }, codes.InvalidArgument,
			`input "price": datatype "FP16", want FP32, or other numbers such as FP64 and INT64`},
		{func(q *oip.ModelInferRequest) { q.Inputs[0].Datatype = "FP64" }, codes.InvalidArgument,
			`input "user": datatype "FP64", want BYTES, BOOL, or whole numbers such as INT64`},
		{func(q *oip.ModelInferRequest) { q.Inputs[2].Contents.Fp32Contents = nil }, codes.InvalidArgument,
			`input "price": 0 values, and the shape says 1`},
		{func(q *oip.ModelInferRequest) { q.Inputs[0].Contents.BytesContents = nil }, codes.InvalidArgument,
			`input "user": 0 values, and the shape says 1`},
		{func(q *oip.ModelInferRequest) { q.Inputs[0].Shape = []int64{3} }, codes.InvalidArgument,
			`input "user": 3 rows, and a request may have 2 (--max-rows)`},
		{func(q *oip.ModelInferRequest) { q.Inputs[0].Shape = []int64{math.MinInt64, 1} },
			codes.InvalidArgument, `input "user": shape`},
		{func(q *oip.ModelInferRequest) { q.RawInputContents = make([][]byte, 3) }, codes.InvalidArgument,
			`input "user": contents and raw_input_contents`},
		{func(q *oip.ModelInferRequest) { q.RawInputContents = make([][]byte, 2) }, codes.InvalidArgument,
			"2 raw_input_contents for 3 inputs"},
		{func(q *oip.ModelInferRequest) {
			q.Outputs = []*oip.ModelInferRequest_InferRequestedOutputTensor{{Name: "score"}}
		}, codes.InvalidArgument, `output "score" is unknown`},
		{func(q *oip.ModelInferRequest) { q.Id = strings.Repeat("x", 3000) }, codes.ResourceExhausted,
			"2000"},
	} {
		q := inferRequest([]string{"u1"}, []string{"a1|b2"}, []float32{1})
		c.change(q)
		err := client.Invoke(t.Context(), servicePath+"ModelInfer", q, new(oip.ModelInferResponse))
		if s := status.Convert(err); s.Code() != c.code || !strings.Contains(s.Message(), c.want) {
			t.Errorf("%v, want %v: %s", err, c.code, c.want)
		}
	}
	ready := new(oip.ModelReadyResponse)
	if err := client.Invoke(t.Context(), servicePath+"ModelReady", &oip.ModelReadyRequest{Name: "other"},
		ready); status.Code(err) != codes.NotFound {
		t.Errorf("%v, error %v", ready, err)
	}
}

// tritonclient, a program of others, gets the same predictions by gRPC.
func TestTritonClientGRPC(t *testing.T) {
	python := pythontest.With(t, "tritonclient.grpc")
	table, folder := save(t)
	_, address, _ := startBoth(t, folder)
	out := python.Run(t, nil, "testdata/client.py", "grpc", address, table)
	var got []float32
	if err := json.Unmarshal(out, &got); err != nil || !slices.Equal(got, expected(t, table, folder)) {
		t.Errorf("other predictions: %.200s", out)
	}
}

// startBoth runs the program with HTTP and gRPC, and returns both addresses and a function that ends it.
func startBoth(t *testing.T, args ...string) (http, grpc string, stop func() int) {
	t.Helper()
	line, stop := startLine(t, append(args, "--grpc", "127.0.0.1:0")...)
	_, grpc, _ = strings.Cut(line, ", gRPC at ")
	return addressOf(line), grpc, stop
}

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"tandem/internal/cli"
	"tandem/runtime/inference"
)

// jsonLengthHeader has the length of the JSON at the beginning of a body whose tensors follow as bytes.
const jsonLengthHeader = "Inference-Header-Content-Length"

// httpRequest is what a request for predictions over HTTP has besides its inputs.
type httpRequest struct {
	id      string
	outputs []struct {
		Name       string `json:"name"`
		Parameters struct {
			Binary *bool `json:"binary_data"`
		} `json:"parameters"`
	}
	parameters struct {
		BinaryOutput bool `json:"binary_data_output"`
	}
}

// parseRequest reads a body: JSON, and the bytes of tensors after it if the header says where they begin.
// The inputs may alias the body.
func parseRequest(body []byte, jsonLength string) (*httpRequest, []tensor, error) {
	var rest []byte
	if jsonLength != "" {
		n, err := strconv.Atoi(jsonLength)
		if err != nil || n < 0 || n > len(body) {
			return nil, nil, refuse(errInvalid, "%s: %q, and the body has %d bytes", jsonLengthHeader,
				jsonLength, len(body))
		}
		body, rest = body[:n], body[n:]
	}
	q, inputs, sizes, err := readRequest(string(body))
	if err != nil {
		return nil, nil, refuse(errInvalid, "the request is not what the protocol asks for: %w", err)
	}
	for i, size := range sizes {
		if size == nil {
			continue
		}
		t := &inputs[i]
		if *size < 0 || *size > len(rest) {
			return nil, nil, refuse(errInvalid, "input %q: binary_data_size %d, and %d bytes are left",
				t.name, *size, len(rest))
		}
		t.isRaw, t.raw, rest = true, rest[:*size], rest[*size:]
	}
	if len(rest) > 0 {
		return nil, nil, refuse(errInvalid, "%d bytes after the last input", len(rest))
	}
	return q, inputs, nil
}

// inputsMax is how many inputs a request may have. The tensor of one takes more memory than its JSON.
const inputsMax = 100_000

// readRequest reads the JSON of a request. Sizes are those of the bytes of each input, nil without bytes.
func readRequest(text string) (q *httpRequest, inputs []tensor, sizes []*int, err error) {
	q = &httpRequest{}
	r := &jsonReader{text: text}
	err = r.object(func(key string) error {
		switch key {
		case "id":
			return r.value(&q.id)
		case "outputs":
			return r.value(&q.outputs)
		case "parameters":
			return r.value(&q.parameters)
		case "inputs":
			inputs, sizes = nil, nil
			return r.array(func() error {
				if len(inputs) == inputsMax {
					return fmt.Errorf("more than %d inputs", inputsMax)
				}
				t, size, err := r.tensor()
				inputs, sizes = append(inputs, t), append(sizes, size)
				return err
			})
		}
		return r.skip()
	})
	if r.next(); err == nil && r.at < len(r.text) {
		err = r.fail()
	}
	return q, inputs, sizes, err
}

// tensor reads an input, and the size of its bytes if it has some.
func (r *jsonReader) tensor() (t tensor, size *int, err error) {
	err = r.object(func(key string) (err error) {
		switch key {
		case "name":
			t.name, err = r.string()
			return err
		case "datatype":
			t.datatype, err = r.string()
			return err
		case "shape":
			return r.value(&t.shape)
		case "data":
			t.json, err = r.values()
			return err
		case "parameters":
			var parameters struct {
				BinarySize *int `json:"binary_data_size"`
			}
			err = r.value(&parameters)
			size = parameters.BinarySize
			return err
		}
		return r.skip()
	})
	return t, size, err
}

// handler answers requests of at most a number of bytes.
func (s *service) handler(requestMax int64) http.Handler {
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	for _, path := range []string{"/v2/health/live", "/v2/health/ready"} {
		mux.HandleFunc("GET "+path, ok)
	}
	mux.HandleFunc("GET /v2", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"name": "tandem", "version": cli.Commit(),
			"extensions": []string{"binary_tensor_data"}})
	})
	infer := func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rows, status := s.inferHTTP(w, r, requestMax)
		s.counts.answered("http", strconv.Itoa(status), time.Since(begin), rows)
	}
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			d, err := s.describe(r.PathValue("model"), r.PathValue("version"))
			if err != nil {
				replyError(w, err)
				return
			}
			reply(w, d)
		})
		mux.HandleFunc("GET "+path+"/ready", func(w http.ResponseWriter, r *http.Request) {
			if _, err := s.describe(r.PathValue("model"), r.PathValue("version")); err != nil {
				replyError(w, err)
			}
		})
		mux.HandleFunc("POST "+path+"/infer", infer)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		replyError(w, refuse(errUnknown, "no %s %s here", r.Method, r.URL.Path))
	})
	return mux
}

// inferHTTP answers a request for predictions. It returns the number of predicted rows, and the status.
func (s *service) inferHTTP(w http.ResponseWriter, r *http.Request, requestMax int64) (rows, status int) {
	leave, err := s.enter()
	if err != nil {
		return 0, replyError(w, err)
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.timeMax, errSlow)
	defer cancel()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestMax))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return 0, replyError(w, refuse(errTooLarge,
			"the request has more than %d bytes, the limit of this server (--max-request)", requestMax))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, replyError(w, refuse(errSlow, "the request was not sent within %v, the limit of this "+
			"server (--max-time)", s.timeMax))
	}
	if err != nil {
		return 0, replyError(w, &refusal{errInvalid, err})
	}
	parsed, inputs, err := parseRequest(body, r.Header.Get(jsonLengthHeader))
	if err != nil {
		return 0, replyError(w, err)
	}
	q := &request{model: r.PathValue("model"), version: r.PathValue("version"), inputs: inputs}
	for i := range parsed.outputs {
		q.outputs = append(q.outputs, parsed.outputs[i].Name)
	}
	a, err := s.infer(ctx, q)
	if err != nil {
		return 0, replyError(w, err)
	}
	s.replyPredictions(w, parsed, a)
	return len(a.predictions) / a.labels, http.StatusOK
}

// replyPredictions writes predictions as JSON, or as bytes if the request asks for them.
func (s *service) replyPredictions(w http.ResponseWriter, q *httpRequest, a *answer) {
	asBytes := q.parameters.BinaryOutput
	for i := range q.outputs {
		if binary := q.outputs[i].Parameters.Binary; binary != nil {
			asBytes = *binary
		}
	}
	head := map[string]string{"model_name": s.name, "model_version": a.version}
	if q.id != "" {
		head["id"] = q.id
	}
	body, _ := json.Marshal(head) // texts always can
	body = fmt.Appendf(body[:len(body)-1], `,"outputs":[{"name":%q,"datatype":%q,"shape":[%d,%d],`, output,
		datatypeFP32, len(a.predictions)/a.labels, a.labels)
	if asBytes {
		body = fmt.Appendf(body, `"parameters":{"binary_data_size":%d}}]}`, 4*len(a.predictions))
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set(jsonLengthHeader, strconv.Itoa(len(body)))
		body = append(body, rawNumbers(a.predictions)...)
	} else {
		body = append(appendJSON(append(body, `"data":`...), a.predictions), "}]}\n"...)
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone away is not an error of the server
}

// rawNumbers returns numbers as the bytes of a tensor.
func rawNumbers(values []float32) []byte {
	raw := make([]byte, 0, 4*len(values))
	for _, value := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
	}
	return raw
}

// reply writes a value as JSON. A client that has gone away is not an error of the server.
func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// statusCanceled is what logs and metrics show of requests whose client has gone away.
const statusCanceled = 499

// replyError answers with an error, as the protocol has it. It returns the status.
func replyError(w http.ResponseWriter, err error) (status int) {
	switch {
	case errors.Is(err, errInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, errUnknown):
		status = http.StatusNotFound
	case errors.Is(err, errTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errToken):
		status = http.StatusUnauthorized
	case errors.Is(err, errSlow):
		status = http.StatusRequestTimeout
	case errors.Is(err, inference.ErrBusy), errors.Is(err, errEnding), errors.Is(err, errCrowded):
		status = http.StatusServiceUnavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		status = statusCanceled
	default:
		status = http.StatusInternalServerError
		err = fmt.Errorf("the server failed: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
	return status
}

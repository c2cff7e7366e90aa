package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"tandem/runtime/inference"
)

// Bytes behind the JSON of a request, and of an answer that is asked for in this form, have the numbers that
// JSON has. Source: the extension "Binary tensor data" of KServe's protocol.
func TestTensorsAreBytesBehindTheJSON(t *testing.T) {
	table, folder := save(t)
	s, want := newTestService(t, folder), expected(t, table, folder)[:2]
	users, tags, prices := columns(t, table)
	var raw []byte
	sizes := make([]int, 3)
	for i, column := range [][]string{users[:2], tags[:2]} {
		for _, text := range column {
			raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(text))), text...)
			sizes[i] += 4 + len(text)
		}
	}
	raw, sizes[2] = append(raw, rawNumbers(prices[:2])...), 8
	head := func(users, tags, prices int, more string) string {
		input := func(name, datatype string, size int) string {
			return fmt.Sprintf(`{"name": %q, "shape": [2, 1], "datatype": %q,
				"parameters": {"binary_data_size": %d}}`, name, datatype, size)
		}
		return `{"inputs": [` + input("user", "BYTES", users) + "," + input("tags", "BYTES", tags) + "," +
			input("price", "FP32", prices) + `]` + more + `}`
	}
	ask := func(text string, raw []byte, length string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/v2/models/tandem/infer", strings.NewReader(text+string(raw)))
		r.Header.Set(jsonLengthHeader, length)
		w := httptest.NewRecorder()
		s.handler(1<<20).ServeHTTP(w, r)
		return w
	}
	for more, asBytes := range map[string]bool{
		"": false, `, "id": "seven", "parameters": {"binary_data_output": true}`: true,
		`, "outputs": [{"name": "prediction", "parameters": {"binary_data": true}}]`: true,
		`, "parameters": {"binary_data_output": true}, "outputs": [{"name": "prediction",
			"parameters": {"binary_data": false}}]`: false,
		`, "parameters": {"binary_data_output": true}, "outputs": [{"name": "prediction"}]`: true,
	} {
		text := head(sizes[0], sizes[1], sizes[2], more)
		w := ask(text, raw, strconv.Itoa(len(text)))
		body := w.Body.Bytes()
		length := w.Header().Get(jsonLengthHeader)
		if w.Code != http.StatusOK || (length != "") != asBytes ||
			w.Header().Get("Content-Length") != strconv.Itoa(len(body)) {
			t.Errorf("%s: status %d, %v, %q", more, w.Code, w.Header(), body)
			continue
		}
		var got []float32
		if asBytes {
			n, err := strconv.Atoi(length)
			if err != nil || n > len(body) {
				t.Fatalf("%q of %d bytes", length, len(body))
			}
			for at := n; at+4 <= len(body); at += 4 {
				got = append(got, math.Float32frombits(binary.LittleEndian.Uint32(body[at:])))
			}
			body = body[:n]
		}
		var answer struct {
			ID      string
			Outputs []struct {
				Shape      []int
				Data       []float32
				Parameters struct {
					Size int `json:"binary_data_size"`
				}
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil || len(answer.Outputs) != 1 ||
			!slices.Equal(answer.Outputs[0].Shape, []int{2, 1}) ||
			(answer.ID == "seven") != strings.Contains(more, "seven") ||
			answer.Outputs[0].Parameters.Size != 4*len(got) {
			t.Errorf("%s: %q, error %v", more, body, err)
			continue
		}
		if !slices.Equal(append(got, answer.Outputs[0].Data...), want) {
			t.Errorf("%s: %v and %v, want %v", more, got, answer.Outputs[0].Data, want)
		}
	}
	good := head(sizes[0], sizes[1], sizes[2], "")
	for _, c := range []struct {
		text   string
		raw    []byte
		length int
		want   string
	}{
		{good, raw, len(good) + len(raw) + 1, fmt.Sprintf("and the body has %d bytes", len(good)+len(raw))},
		{good, raw, -1, "and the body has"},
		{good, raw, len(good) - 1, "the request is not what the protocol asks for"},
		{good, raw[:len(raw)-1], len(good), `input \"price\": binary_data_size 8, and 7 bytes are left`},
		{good, append(slices.Clone(raw), 1), len(good), "1 bytes after the last input"},
		{head(sizes[0], sizes[1], -1, ""), raw, 0, "binary_data_size -1"},
		{head(sizes[0]-1, sizes[1]+1, 8, ""), raw, 0, "user"},
		{head(sizes[0], sizes[1]+4, 4, ""), raw, 0, ""},
		{head(sizes[0], sizes[1]-1, 9, ""), raw, 0, ""},
	} {
		if c.length == 0 {
			c.length = len(c.text)
		}
		w := ask(c.text, c.raw, strconv.Itoa(c.length))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s, length %d, %d bytes: status %d, %s; want %q", c.text, c.length, len(c.raw),
				w.Code, w.Body, c.want)
		}
	}
}

// A client learns from the status whether it may ask again (503, UNAVAILABLE), has asked for something wrong,
// or has found a fault of the server.
func TestStatusesOfErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   codes.Code
	}{
		{refuse(errInvalid, "x"), http.StatusBadRequest, codes.InvalidArgument},
		{refuse(errUnknown, "x"), http.StatusNotFound, codes.NotFound},
		{inference.ErrBusy, http.StatusServiceUnavailable, codes.Unavailable},
		{errEnding, http.StatusServiceUnavailable, codes.Unavailable},
		{context.Canceled, statusCanceled, codes.Canceled},
		{refuse(errSlow, "x"), http.StatusRequestTimeout, codes.DeadlineExceeded},
		{errors.New("x"), http.StatusInternalServerError, codes.Internal},
	} {
		w := httptest.NewRecorder()
		got := replyError(w, fmt.Errorf("y: %w", c.err))
		var text struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &text); err != nil || got != c.status ||
			w.Code != c.status || !strings.Contains(text.Error, "y: ") ||
			strings.HasPrefix(text.Error, "the server failed") != (c.code == codes.Internal) {
			t.Errorf("%v: status %d, %+v", c.err, got, text)
		}
		if code := codeOf(fmt.Errorf("y: %w", c.err)); code != c.code {
			t.Errorf("%v: %v, want %v", c.err, code, c.code)
		}
	}
	if code := codeOf(nil); code != codes.OK {
		t.Errorf("no error is %v", code)
	}
}

//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"tandem/internal/moduletest"
	"tandem/runtime/inference/oip"
)

// asProgram makes the test binary the program itself.
const asProgram = "TANDEM_TEST_SERVE"

func TestMain(m *testing.M) {
	moduletest.Main()
	if os.Getenv(asProgram) != "" {
		main()
	}
	if results := os.Getenv(asTrainer); results != "" {
		fmt.Fprintln(os.Stderr, trainUntilKilled(results))
		os.Exit(1)
	}
	if results := os.Getenv(asArriving); results != "" {
		fmt.Fprintln(os.Stderr, followUntilKilled(results))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// After SIGTERM the process takes no connection, answers the requests of both protocols whose bodies it has
// not read yet, and exits with 0.
func TestSIGTERM(t *testing.T) {
	table, folder := save(t)
	want := expected(t, table, folder)[:1]
	program := exec.Command(os.Args[0], folder, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
	program.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Process.Kill()
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := addressOf(line)
	_, grpcAddress, _ := strings.Cut(strings.TrimSpace(line), ", gRPC at ")

	// A request whose body the server waits for.
	body := `{"inputs": [{"name": "user", "shape": [1], "datatype": "BYTES", "data": ["u0"]},
		{"name": "tags", "shape": [1], "datatype": "BYTES", "data": ["a0|b0"]},
		{"name": "price", "shape": [1], "datatype": "FP32", "data": [0]}]}`
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST /v2/models/tandem/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"+
		"Expect: 100-continue\r\n\r\n", len(body))
	reader := bufio.NewReader(connection)
	if text, err := reader.ReadString('\n'); err != nil || !strings.Contains(text, "100 Continue") {
		t.Fatalf("%q, error %v", text, err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// A call whose message the server waits for: it has seen the call before the next one of the connection.
	client := dial(t, grpcAddress)
	stream, err := client.NewStream(t.Context(), &grpc.StreamDesc{}, servicePath+"ModelInfer")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Invoke(t.Context(), servicePath+"ServerLive", &oip.ServerLiveRequest{},
		new(oip.ServerLiveResponse)); err != nil {
		t.Fatal(err)
	}

	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, listener := range []string{address, grpcAddress} {
		for another, err := net.Dial("tcp", listener); err == nil; another, err = net.Dial("tcp", listener) {
			another.Close()
		}
	}
	if _, err := io.WriteString(connection, body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Outputs []struct{ Data []float32 } }
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil ||
		response.StatusCode != http.StatusOK ||
		!slices.Equal(got.Outputs[0].Data, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
	a := new(oip.ModelInferResponse)
	if err := stream.SendMsg(inferRequest([]string{"u0"}, []string{"a0|b0"}, []float32{0})); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(a); err != nil || !slices.Equal(a.RawOutputContents[0], rawNumbers(want)) {
		t.Errorf("%v, error %v", a, err)
	}
	io.Copy(io.Discard, lines)
	if err := program.Wait(); err != nil {
		t.Errorf("%v after SIGTERM", err)
	}
}

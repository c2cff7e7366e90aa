package transport

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
)

// parentVariable tells the test binary that it is to be a process of a test, and
// whom to connect to.
const parentVariable = "TANDEM_TRANSPORT_TEST_PARENT"

func TestMain(m *testing.M) {
	if parent := os.Getenv(parentVariable); parent != "" {
		if err := beNNWorker1(parent); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	// Tests that run side by side cannot ask one by one: see mustLeaveNothing.
	if left := leftAfter(2 * time.Second); left != "" {
		fmt.Println("goroutines are left:\n" + left)
		code = 1
	}
	os.Exit(code)
}

// beNNWorker1 connects to nn-worker 0, prints where it listens, and lives until its input ends.
func beNNWorker1(parent string) error {
	n, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(1)}, Job: "a job",
		Handler: newMailbox()})
	if err != nil {
		return err
	}
	if err := n.Begin(run, 0, 0); err != nil {
		return err
	}
	fmt.Println(n.Address())
	input := bufio.NewReader(os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := n.Connect(ctx, map[msg.Address]string{worker(0): parent}); err != nil {
		return err
	}
	_, err = input.ReadString('\n')
	return err
}

// A process that is killed is lost at once, with megabytes in flight to it.
func TestKilledProcessIsNoticed(t *testing.T) { overEach(t, testKilledProcessIsNoticed) }

func testKilledProcessIsNoticed(t *testing.T) {
	mustLeaveNothing(t)
	in := newMailbox()
	n := listen(t, 0, in)
	child := osexec.Command(os.Args[0])
	child.Env = append(os.Environ(), parentVariable+"="+n.Address())
	hold, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Connect(t.Context(),
		map[msg.Address]string{worker(1): strings.TrimSpace(address)}); err != nil {
		t.Fatal(err)
	}
	payload := make(exec.DenseShard, 1<<20)
	for step := range 20 {
		if err := n.Send(rows(0, 1, step), payload); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := in.loss(t, 5*time.Second); !strings.Contains(err.Error(),
		"transport: lost nn-worker 1: its connection broke") {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("noticed after %v", took)
	}
	closeAll(t, []*Endpoint{n})
	_ = hold.Close()
	if err := child.Wait(); err == nil {
		t.Error("the process ended well, though it was killed")
	}
}

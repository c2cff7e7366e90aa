package transport

import (
	"testing"
	"time"

	"tandem/algo/protocol/msg"
)

// A message that alone has more bytes than may wait is accepted where no other waits.
func TestOneMessageOfAnySize(t *testing.T) {
	n := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox(),
		Inbox: Credit{Bytes: 100}}, 0)
	defer n.Abort()
	accepted := make(chan bool, 1)
	go func() {
		kept, err := n.inbox.add(rows(1, 0, 5), 1000)
		accepted <- kept && err == nil
	}()
	select {
	case ok := <-accepted:
		if !ok {
			t.Error("it is not accepted")
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for messages to be handled, and there is none")
	}
}

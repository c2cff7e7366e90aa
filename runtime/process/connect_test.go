package process

import (
	"errors"
	"fmt"
	"testing"

	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/transport"
)

// A process that cannot be reached is lost if the run has a checkpoint to begin again with. Without one, as
// at the beginning, when an address may be wrong, and after other errors, the run ends.
func TestUnreachableProcessIsLost(t *testing.T) {
	gone := fmt.Errorf("nn-worker 1: %w", &transport.UnreachableError{
		Role: msg.Address{Role: msg.NNWorker, Index: 2}, Address: "10.0.0.1:7300",
		Reason: errors.New("i/o timeout")})
	for _, c := range []struct {
		err  error
		from driver.Origin
		lost bool
	}{
		{gone, driver.Origin{Step: 100, Model: "checkpoints/100"}, true},
		{gone, driver.Origin{}, false},
		{errors.New("it works on another job"), driver.Origin{Step: 100, Model: "checkpoints/100"}, false},
	} {
		got := asLoss(c.err, c.from)
		if errors.As(got, new(*driver.LostError)) != c.lost || got.Error() != c.err.Error() {
			t.Errorf("%v, beginning with %+v: %v; want a loss: %t", c.err, c.from, got, c.lost)
		}
	}
}

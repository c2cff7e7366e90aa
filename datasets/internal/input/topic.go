package input

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Message is a message of a topic, which is a row.
type Message struct {
	Partition int32
	Offset    int64
	Value     []byte // valid until Next is called again
}

// Topic reads the messages of all partitions of a topic, as they come. Those of a partition are in their
// order.
type Topic interface {
	// Next waits for messages, for a second or so, and returns them; none if none has come. Added are the
	// partitions that are new, with the offsets at which they begin.
	Next(ctx context.Context) (all []Message, added map[int32]int64, err error)
	// ID tells the topic from others of its name, also from one that was deleted; "" if brokers have none.
	ID() string
	io.Closer
}

// topicOpener opens the topic that a URL names, at the offsets in next by partition. It adds those of
// partitions that next lacks: all messages of a topic that has some in next, else what the URL says.
type topicOpener func(ctx context.Context, url string, next map[int32]int64) (Topic, error)

// topics are what opens topics, by scheme. Programs that read none do not link the libraries behind it.
var topics = map[string]topicOpener{}

// RegisterTopics sets what opens the topics of a scheme. Package datasets/kafka calls it when it is imported.
func RegisterTopics(scheme string, open topicOpener) { topics[scheme] = open }

// OpenTopic opens a topic by a URL of a scheme that is registered: see RegisterTopics.
func OpenTopic(ctx context.Context, url string, next map[int32]int64) (Topic, error) {
	scheme, _, _ := strings.Cut(url, "://")
	open := topics[scheme]
	if open == nil {
		return nil, fmt.Errorf("this program reads no %s:// topics: build it with -tags %[1]s, as in go run "+
			"-tags %[1]s ./cmd/train", scheme)
	}
	return open(ctx, url, next)
}

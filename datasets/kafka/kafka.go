// Package kafka lets a training follow a topic of Kafka, by URLs such as
//
//	kafka://broker-1:9092,broker-2:9092/clicks?start=latest&tls=true&sasl=scram-sha-512
//
// A program imports it for its effect:
//
//	import _ "tandem/datasets/kafka"
//
// It is a separate package because the client behind it takes long to build: cmd/train links it with -tags
// kafka.
//
// Offsets are kept with the rows, by package datasets, and not by the brokers: a consumer group commits what
// it has seen, which is not what a checkpoint has. So every message is trained on once, also after a kill.
package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"tandem/datasets/internal/input"
)

func init() { input.RegisterTopics("kafka", open) }

const (
	// patience is how long the brokers may give no answer before reading fails: a restart takes less.
	patience = 2 * time.Minute
	// askTimeout bounds a question to the brokers.
	askTimeout = 10 * time.Second
	// pollTime is how long Next waits for messages.
	pollTime = time.Second
	// askEvery is how often the brokers are asked for new partitions.
	askEvery = 2 * time.Second
	// batchMost is the number of messages that Next returns at most.
	batchMost = 10_000
)

// The environment variables with the account for sasl.
const userVariable, passwordVariable = "TANDEM_KAFKA_USER", "TANDEM_KAFKA_PASSWORD"

// topic is an input.Topic.
type topic struct {
	name     string
	id       string
	client   *kgo.Client
	known    map[int32]bool // partitions
	asked    time.Time
	answered time.Time
}

// open is what input.RegisterTopics takes.
func open(ctx context.Context, address string, next map[int32]int64) (input.Topic, error) {
	options, name, latest, err := parse(address)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	first, err := offsets(kadm.NewClient(client).ListStartOffsets(ctx, name))
	if err != nil {
		return nil, err
	}
	end, err := offsets(kadm.NewClient(client).ListEndOffsets(ctx, name))
	if err != nil {
		return nil, err
	}
	if err := check(next, first, end); err != nil {
		return nil, err
	}
	if len(next) == 0 && latest {
		maps.Copy(next, end)
	}
	t := &topic{name: name, known: map[int32]bool{}, asked: time.Now(), answered: time.Now()}
	if t.id, err = idOf(ctx, client, name); err != nil {
		return nil, err
	}
	begin := map[int32]kgo.Offset{}
	for partition, offset := range first {
		if _, has := next[partition]; !has {
			next[partition] = offset
		}
		t.known[partition], begin[partition] = true, kgo.NewOffset().At(next[partition])
	}
	t.client, err = kgo.NewClient(append(options,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: begin}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Else a partition that is added is read 5 s after it was found.
		kgo.MetadataMinAge(pollTime))...)
	return t, err
}

// idOf returns the id of a topic; "" where brokers give none.
func idOf(ctx context.Context, client *kgo.Client, name string) (string, error) {
	all, err := kadm.NewClient(client).ListTopics(ctx, name)
	if err != nil {
		return "", explain(err)
	}
	if id := all[name].ID; id != (kadm.TopicID{}) {
		return id.String(), nil
	}
	return "", nil
}

// parse returns what a URL says: options of a client, a topic, and whether it begins with the messages to
// come.
func parse(address string) (options []kgo.Opt, topic string, latest bool, err error) {
	fail := func(form string, args ...any) ([]kgo.Opt, string, bool, error) {
		return nil, "", false, fmt.Errorf(form, args...)
	}
	_, rest, _ := strings.Cut(address, "://")
	rest, query, _ := strings.Cut(rest, "?")
	brokers, topic, _ := strings.Cut(rest, "/")
	parameters, err := url.ParseQuery(query)
	if err != nil || brokers == "" || topic == "" || strings.Contains(topic, "/") {
		return fail("no URL of a topic: write kafka://BROKER:9092,BROKER:9092/TOPIC")
	}
	options = []kgo.Opt{kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ClientID("tandem")}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		switch value := parameters.Get(name); name {
		case "start":
			if latest = value == "latest"; !latest && value != "earliest" {
				return fail("start=%s: want earliest, the default, or latest", value)
			}
		case "tls":
			if value != "true" {
				return fail("tls=%s: want true, or leave it out", value)
			}
			options = append(options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
		case "sasl":
			account, err := account(value)
			if err != nil {
				return fail("%w", err)
			}
			options = append(options, account)
		default:
			return fail("parameter %s: parameters are start, tls and sasl", name)
		}
	}
	return options, topic, latest, nil
}

// account returns the option for a way to show who one is.
func account(mechanism string) (kgo.Opt, error) {
	user, password := os.Getenv(userVariable), os.Getenv(passwordVariable)
	if user == "" {
		return nil, fmt.Errorf("sasl=%s: set %s and %s", mechanism, userVariable, passwordVariable)
	}
	switch mechanism {
	case "plain":
		return kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()), nil
	case "scram-sha-256":
		return kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()), nil
	case "scram-sha-512":
		return kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()), nil
	}
	return nil, fmt.Errorf("sasl=%s: want plain, scram-sha-256 or scram-sha-512", mechanism)
}

// offsets returns offsets by partition.
func offsets(listed kadm.ListedOffsets, err error) (map[int32]int64, error) {
	if err = cmp.Or(err, listed.Error()); err != nil {
		return nil, explain(err)
	}
	all := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { all[o.Partition] = o.Offset })
	return all, nil
}

// check returns an error if the topic does not have the messages to go on with any more.
func check(next, first, end map[int32]int64) error {
	for _, partition := range slices.Sorted(maps.Keys(next)) {
		begin, has := first[partition]
		switch offset := next[partition]; {
		case !has:
			return fmt.Errorf("partition %d is gone: the topic is another: name another --spool", partition)
		case offset < begin:
			return fmt.Errorf("partition %d: messages %d to %d are gone, as the topic keeps them for less "+
				"time than the training was away: begin another training with its model (--init-from)",
				partition, offset, begin-1)
		case offset > end[partition]:
			return fmt.Errorf("partition %d: the topic ends before message %d, which is the next: it is "+
				"another topic of this name: begin another training with the model (--init-from)", partition,
				offset)
		}
	}
	return nil
}

// ID implements input.Topic.
func (t *topic) ID() string { return t.id }

// Next implements input.Topic.
func (t *topic) Next(ctx context.Context) (all []input.Message, added map[int32]int64, err error) {
	poll, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	fetches := t.client.PollRecords(poll, batchMost)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) && !errors.Is(failed.Err, context.Canceled) {
			return nil, nil, fmt.Errorf("partition %d: %w", failed.Partition, explain(failed.Err))
		}
	}
	fetches.EachRecord(func(r *kgo.Record) {
		all = append(all, input.Message{Partition: r.Partition, Offset: r.Offset, Value: r.Value})
	})
	if time.Since(t.asked) < askEvery || ctx.Err() != nil {
		return all, nil, nil
	}
	added, err = t.newPartitions(ctx)
	if t.asked = time.Now(); err == nil || len(all) > 0 {
		t.answered = t.asked
	}
	if time.Since(t.answered) < patience {
		err = nil
	}
	return all, added, err
}

// newPartitions begins to read partitions that are new, with their first message.
func (t *topic) newPartitions(ctx context.Context) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	first, err := offsets(kadm.NewClient(t.client).ListStartOffsets(ctx, t.name))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(first, func(partition int32, _ int64) bool { return t.known[partition] })
	if len(first) == 0 {
		return nil, nil
	}
	begin := map[int32]kgo.Offset{}
	for partition, offset := range first {
		t.known[partition], begin[partition] = true, kgo.NewOffset().At(offset)
	}
	t.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{t.name: begin})
	return first, nil
}

// Close implements io.Closer.
func (t *topic) Close() error {
	t.client.Close()
	return nil
}

// explain returns an error as one line that says what to do.
func explain(err error) error {
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return errors.New("there is no such topic: check its name")
	case errors.Is(err, kerr.OffsetOutOfRange):
		return errors.New("the next message is gone, as the topic keeps them for less time than the " +
			"training needs: begin another training with its model (--init-from)")
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Errorf("the brokers refuse this account: check sasl, %s and %s", userVariable,
			passwordVariable)
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the brokers have not answered in time: check their addresses, tls and the network")
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("the brokers have failed: %s", text)
}

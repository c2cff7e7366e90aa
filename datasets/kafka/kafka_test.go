package kafka_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets"
	_ "tandem/datasets/kafka"
)

// brokersVariable is the environment variable with brokers for the tests, as localhost:9092. Without it they
// run against those of package kfake, which are in this process.
const brokersVariable = "TANDEM_TEST_KAFKA"

// cluster is a topic "clicks…" whose messages tell where they are.
type cluster struct {
	t       *testing.T
	brokers string
	topic   string
	client  *kgo.Client
	fake    *kfake.Cluster // nil where the brokers are real
	sent    map[int32]int  // messages by partition
}

// newCluster makes a topic with a number of partitions.
func newCluster(t *testing.T, partitions int32) *cluster {
	t.Helper()
	c := &cluster{t: t, brokers: os.Getenv(brokersVariable), sent: map[int32]int{},
		topic: fmt.Sprintf("clicks-%d", time.Now().UnixNano())}
	if c.brokers == "" {
		fake, err := kfake.NewCluster(kfake.NumBrokers(2))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(fake.Close)
		c.fake, c.brokers = fake, strings.Join(fake.ListenAddrs(), ",")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.brokers, ",")...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c.client = client
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), partitions, 1, nil, c.topic); err != nil {
		t.Fatal(err)
	}
	return c
}

// send sends a number of messages to a partition. Each tells its partition and its place.
func (c *cluster) send(partition int32, n int) {
	c.t.Helper()
	var all []*kgo.Record
	for range n {
		value := fmt.Sprintf(`{"user":"%d-%d","click":%d}`, partition, c.sent[partition], c.sent[partition]%2)
		c.sent[partition]++
		all = append(all, c.record(partition, []byte(value)))
	}
	c.produce(all...)
}

func (c *cluster) produce(all ...*kgo.Record) {
	c.t.Helper()
	if err := c.client.ProduceSync(c.t.Context(), all...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) record(partition int32, value []byte) *kgo.Record {
	return &kgo.Record{Topic: c.topic, Partition: partition, Value: value}
}

// data returns the data of the topic, whose rows are kept in a folder in files of a number of rows.
func (c *cluster) data(folder string, rows int) job.Data {
	return job.Data{Kind: job.KindFollow, Path: folder, From: "kafka://" + c.brokers + "/" + c.topic,
		CSV:   &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "click"},
		Block: job.Block{Rows: rows, Time: unit.Hour / 10}}
}

// users returns the users in the whole files of a folder, in the order of the files.
func users(t *testing.T, folder string) (all []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // which are sorted
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var row struct{ User string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			all = append(all, row.User)
		}
	}
	return all
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
	}
}

// start starts a feed.
func start(t *testing.T, data job.Data) *datasets.Feed {
	t.Helper()
	feed, err := datasets.StartFeed(t.Context(), data, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = feed.Stop() })
	return feed
}

// killed copies the folder of rows as a program leaves it that is killed now.
func killed(t *testing.T, folder string) string {
	t.Helper()
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(left)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(folder, e.Name()))
		if err == nil {
			err = os.Chtimes(filepath.Join(left, e.Name()), info.ModTime(), info.ModTime())
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return left
}

// Every message of every partition is in one file, and those of a partition are in their order, whenever the
// program is killed: while a file is written, behind its end, or between where the topic goes on is written
// and the file has its name. What says that a key is gone is no row.
func TestEveryMessageComesOnce(t *testing.T) {
	c := newCluster(t, 3)
	folder := filepath.Join(t.TempDir(), "rows")
	c.send(0, 25)
	c.produce(c.record(1, nil), c.record(1, []byte(" \n")))
	feed := start(t, c.data(folder, 10))
	until(t, func() bool { return len(users(t, folder)) == 20 })
	until(t, func() bool {
		_, err := os.Stat(filepath.Join(folder, "000000000020.jsonl.part"))
		return err == nil
	})
	folder = killed(t, folder)
	if err := feed.Stop(); err != nil {
		t.Fatal(err)
	}
	c.send(1, 13)
	c.send(2, 7)
	feed = start(t, c.data(folder, 10)) // rows 20 to 24 come again
	if n := feed.Received(); n != 20 {
		t.Errorf("%d rows were received, want 20", n)
	}
	until(t, func() bool { return len(users(t, folder)) == 40 })
	before := killed(t, folder)
	if err := feed.Stop(); err != nil { // which ends the file in hand
		t.Fatal(err)
	}
	if n := len(users(t, folder)); n != 45 {
		t.Errorf("%d rows behind the end, want 45", n)
	}
	unnamed := killed(t, folder)
	for name, folder := range map[string]string{"stopped": folder, "killed": before} {
		feed := start(t, c.data(folder, 5))
		until(t, func() bool { return len(users(t, folder)) == 45 })
		if err := feed.Stop(); err != nil {
			t.Fatal(err)
		}
		c.complete(name, folder)
	}
	// The name is given last, so a kill before it leaves what says where the topic goes on ahead of the
	// files.
	last := filepath.Join(unnamed, "000000000040.jsonl")
	if err := os.Rename(last, last+".part"); err != nil {
		t.Fatal(err)
	}
	start(t, c.data(unnamed, 5))
	until(t, func() bool { return len(users(t, unnamed)) == 45 })
	c.complete("killed before the name", unnamed)
}

// complete checks that a folder has the messages that were sent, each once.
func (c *cluster) complete(name, folder string) {
	c.t.Helper()
	byPartition := map[string][]string{}
	for _, user := range users(c.t, folder) {
		partition, place, _ := strings.Cut(user, "-")
		byPartition[partition] = append(byPartition[partition], place)
	}
	for partition, n := range c.sent {
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(i))
		}
		if got := byPartition[fmt.Sprint(partition)]; !slices.Equal(got, want) {
			c.t.Errorf("%s: partition %d has messages %q, want 0 to %d", name, partition, got, n-1)
		}
	}
}

// A topic can be followed from its end on. What comes while no program runs counts, also where no message had
// come before that.
func TestATopicIsFollowedFromItsEnd(t *testing.T) {
	c := newCluster(t, 2)
	c.send(0, 5)
	folder := filepath.Join(t.TempDir(), "rows")
	data := c.data(folder, 2)
	data.From += "?start=latest"
	if err := start(t, data).Stop(); err != nil {
		t.Fatal(err)
	}
	c.send(0, 1)
	c.send(1, 3)
	start(t, data)
	until(t, func() bool { return len(users(t, folder)) == 4 })
	got := users(t, folder)
	slices.Sort(got)
	if want := []string{"0-5", "1-0", "1-1", "1-2"}; !slices.Equal(got, want) {
		t.Errorf("users %q, want %q", got, want)
	}
}

// Partitions that are added are read from their beginning, and a message of several lines is one row.
func TestPartitionsAreAdded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	folder := filepath.Join(t.TempDir(), "rows")
	c.send(0, 2)
	start(t, c.data(folder, 2))
	until(t, func() bool { return len(users(t, folder)) == 2 })
	answers, err := kadm.NewClient(c.client).CreatePartitions(t.Context(), 1, c.topic)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.client.ForceMetadataRefresh()
	until(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lines := []byte("{\n  \"user\": \"1-0\",\r\n  \"click\": 0\n}\n")
		return c.client.ProduceSync(ctx, c.record(1, lines)).FirstErr() == nil
	})
	c.send(0, 1)
	until(t, func() bool { return len(users(t, folder)) >= 4 })
	if got := users(t, folder)[2:]; !slices.Contains(got, "1-0") {
		t.Errorf("users %q", got)
	}
}

// Messages of transactions that were aborted are no rows.
func TestAbortedTransactionsAreNotSeen(t *testing.T) {
	c := newCluster(t, 1)
	producer, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.brokers, ",")...),
		kgo.TransactionalID(c.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	for user, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		one := c.record(0, fmt.Appendf(nil, `{"user":"%d","click":0}`, user))
		if err := producer.ProduceSync(t.Context(), one).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	start(t, c.data(folder, 2))
	until(t, func() bool { return len(users(t, folder)) == 2 })
	if got := users(t, folder); !slices.Equal(got, []string{"0", "2"}) {
		t.Errorf("users %q", got)
	}
}

// A topic goes on behind messages that make no row, and with partitions that are new, also where the program
// has ended before a file had them: what retention has dropped since is an error if it was not read.
func TestOffsetsWithoutRowsAreKept(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	folder := filepath.Join(t.TempDir(), "rows")
	c.send(0, 2)
	feed := start(t, c.data(folder, 2))
	until(t, func() bool { return len(users(t, folder)) == 2 })
	c.produce(c.record(0, nil), c.record(0, nil))
	position := func() string {
		text, _ := os.ReadFile(filepath.Join(folder, ".topic.json"))
		return string(text)
	}
	until(t, func() bool { return strings.Contains(position(), `"after":{"lines":2,"next":{"0":4}}`) })
	if _, err := kadm.NewClient(c.client).CreatePartitions(t.Context(), 1, c.topic); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return strings.Contains(position(), `"next":{"0":4,"1":0}`) })
	c.client.ForceMetadataRefresh()
	until(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		one := c.record(1, []byte(`{"user":"1-0","click":0}`))
		return c.client.ProduceSync(ctx, one).FirstErr() == nil
	})
	left := killed(t, folder)
	if err := feed.Stop(); err != nil {
		t.Fatal(err)
	}
	c.forget(0, 4)
	c.forget(1, 1)
	if _, err := datasets.StartFeed(t.Context(), c.data(left, 5), "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "partition 1: messages 0 to 0 are gone") {
		t.Error(err)
	}
}

// forget drops the messages of a partition before an offset, as retention does.
func (c *cluster) forget(partition int32, offset int64) {
	c.t.Helper()
	var gone kadm.Offsets
	gone.Add(kadm.Offset{Topic: c.topic, Partition: partition, At: offset})
	if _, err := kadm.NewClient(c.client).DeleteRecords(c.t.Context(), gone); err != nil {
		c.t.Fatal(err)
	}
}

// A training that is killed goes on from its ledger with every message once, where files that checkpoints
// need no more are gone. A topic that is faster than the training waits for it.
func TestATrainingOfATopicGoesOn(t *testing.T) {
	c := newCluster(t, 2)
	c.send(0, 40)
	folder, place := filepath.Join(t.TempDir(), "rows"), t.TempDir()
	data, j := c.data(folder, 2), job.Default()
	j.Training.GlobalBatch = 2
	var got []uint64
	read := func(s *datasets.Stream, rows int) {
		until(t, func() bool {
			block, _, _, err := s.Next(s.Steps())
			if err != nil {
				t.Fatal(err)
			}
			if block != nil {
				got = append(got, block.Slots[0].IDs...)
			}
			return len(got) >= rows
		})
	}
	feed := start(t, data)
	s, set, err := datasets.Follow(t.Context(), data, "", "", feed, func(time.Duration) {})
	if err == nil {
		err = s.Begin(&j, filepath.Join(place, "1"))
	}
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, set.Train.Slots[0].IDs...)
	time.Sleep(50 * time.Millisecond)
	if n := len(users(t, folder)); n > 2+2*8 {
		t.Errorf("%d rows in files, one of which was taken", n)
	}
	read(s, 20)
	if err := s.Forget(6); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { // eight files wait, and nothing is written before one is taken
		_, err := os.Stat(filepath.Join(folder, "000000000034.jsonl"))
		return err == nil
	})
	left := killed(t, folder)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data.Path = left
	again := func(taken []string) (*datasets.Feed, error) {
		return datasets.StartFeed(t.Context(), data, "", nil, taken)
	}
	s, _, err = datasets.FollowOn(data, "", filepath.Join(place, "1"), again)
	if err == nil {
		err = s.Begin(&j, filepath.Join(place, "2"))
	}
	if err != nil {
		t.Fatal(err)
	}
	c.send(1, 3)
	read(s, 42) // of 43: the last one waits for another
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, id := range got {
		if seen[id] {
			t.Errorf("an id comes twice")
		}
		seen[id] = true
	}
}

// What cannot be read is an error that says what to do, at once or, where it comes later, from the stream.
func TestTopicsThatCannotBeRead(t *testing.T) {
	c := newCluster(t, 1)
	c.send(0, 10)
	t.Setenv("TANDEM_KAFKA_USER", "")
	for from, want := range map[string]string{
		"kafka://" + c.brokers + "/no-such-topic":              "there is no such topic",
		"kafka://" + c.brokers:                                 "no URL of a topic: write kafka://",
		"kafka://" + c.brokers + "/" + c.topic + "?start=now":  "start=now: want earliest",
		"kafka://" + c.brokers + "/" + c.topic + "?group=x":    "parameter group: parameters are start",
		"kafka://" + c.brokers + "/" + c.topic + "?sasl=plain": "sasl=plain: set TANDEM_KAFKA_USER",
		"kafka://127.0.0.1:1/" + c.topic:                       "brokers have",
	} {
		data := c.data(t.TempDir(), 5)
		data.From = from
		if _, err := datasets.StartFeed(t.Context(), data, "", nil, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", from, err, want)
		}
	}
	folder := t.TempDir()
	feed := start(t, c.data(folder, 5))
	until(t, func() bool { return len(users(t, folder)) == 10 })
	if err := feed.Stop(); err != nil {
		t.Fatal(err)
	}
	other := newCluster(t, 1)
	if _, err := datasets.StartFeed(t.Context(), other.data(folder, 5), "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "its rows are those of topic") {
		t.Error(err)
	}
	c.send(0, 10)
	c.forget(0, 15)
	if _, err := datasets.StartFeed(t.Context(), c.data(folder, 5), "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "partition 0: messages 10 to 14 are gone") {
		t.Error(err)
	}
	text := newCluster(t, 1)
	for range 5 {
		text.produce(text.record(0, []byte("a,b")))
	}
	data := text.data(t.TempDir(), 5)
	_, _, err := datasets.Follow(t.Context(), data, "", "", start(t, data), func(time.Duration) {})
	if err == nil || !strings.Contains(err.Error(), "000000000000.jsonl:1: bad row: no JSON") {
		t.Error(err)
	}
}

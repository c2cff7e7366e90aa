// Command probe measures a network between two hosts by plain TCP.
//
//	probe serve HOST:PORT            on one host, until it is killed
//	probe measure HOST:PORT SECONDS  on the other; prints a line of JSON
//
// It measures how many bytes a second the other host receives while nothing comes back, how many each host
// receives while both send, and the shortest of some round trips of one byte.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "measure":
		err = measure(os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("want serve HOST:PORT or measure HOST:PORT SECONDS")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

// The kinds of a connection, its first byte.
const (
	echo    byte = iota // every byte comes back
	oneWay              // the client sends; at the end the server answers with the rate that it has seen
	bothWay             // as oneWay, and the server sends, too, until the client has ended
)

// serve answers connections.
func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		go answer(c)
	}
}

// answer serves one connection. An error ends it, which the client notices.
func answer(c net.Conn) {
	defer func() { _ = c.Close() }()
	var kind [1]byte
	if _, err := io.ReadFull(c, kind[:]); err != nil {
		return
	}
	if kind[0] == echo {
		_, _ = io.Copy(c, c)
		return
	}
	ended := make(chan struct{})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if kind[0] == bothWay {
			send(c, ended)
		}
	}()
	rate, _ := receive(c)
	close(ended)
	<-sent
	_ = binary.Write(c, binary.BigEndian, rate)
}

// send sends zeros until a channel is closed.
func send(c net.Conn, ended <-chan struct{}) {
	zeros := make([]byte, 64<<10)
	for {
		select {
		case <-ended:
			return
		default:
			if _, err := c.Write(zeros); err != nil {
				return
			}
		}
	}
}

// receive reads to the end of a stream, and returns the bytes a second after the first half second, in which
// TCP starts, and the last eight bytes.
func receive(c net.Conn) (rate float64, tail []byte) {
	buffer := make([]byte, 64<<10)
	begin, bytes := time.Now().Add(time.Second/2), 0
	last := begin
	for {
		n, err := c.Read(buffer)
		tail = append(tail, buffer[max(0, n-8):n]...)
		tail = tail[max(0, len(tail)-8):]
		if now := time.Now(); now.After(begin) && n > 0 {
			bytes += n
			last = now
		}
		if err != nil {
			return float64(bytes) / max(1e-9, last.Sub(begin).Seconds()), tail
		}
	}
}

// result is what measure prints.
type result struct {
	OneWay    float64 `json:"one_way_bytes_per_s"`
	BothWays  float64 `json:"both_ways_bytes_per_s"` // each way
	RoundTrip float64 `json:"round_trip_s"`
}

// measure measures the network to a server, for some seconds each way.
func measure(address, text string) error {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 1) {
		return fmt.Errorf("%q seconds; want more than 1", text)
	}
	var r result
	if r.RoundTrip, err = roundTrip(address); err != nil {
		return err
	}
	window := time.Duration(seconds * float64(time.Second))
	if r.OneWay, err = stream(address, oneWay, window); err != nil {
		return err
	}
	if r.BothWays, err = stream(address, bothWay, window); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// dial opens a connection of a kind to a server that may begin to listen within some seconds.
func dial(address string, kind byte) (c *net.TCPConn, err error) {
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		made, err := net.Dial("tcp", address)
		if err == nil {
			_, err = made.Write([]byte{kind})
			return made.(*net.TCPConn), err
		}
		if time.Since(begin) > 5*time.Second {
			return nil, err
		}
	}
}

// roundTrip returns the shortest of some round trips of a byte.
func roundTrip(address string) (least float64, err error) {
	c, err := dial(address, echo)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	least = 1
	for range 50 {
		var one [1]byte
		begin := time.Now()
		if _, err := c.Write(one[:]); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(c, one[:]); err != nil {
			return 0, err
		}
		least = min(least, time.Since(begin).Seconds())
	}
	return least, nil
}

// stream sends for a window and returns the rate at which the server has received or, if it sends too, the
// smaller of both rates.
func stream(address string, kind byte, window time.Duration) (rate float64, err error) {
	c, err := dial(address, kind)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	ended := make(chan struct{})
	closed := make(chan error, 1)
	go func() {
		send(c, ended)
		closed <- c.CloseWrite()
	}()
	time.AfterFunc(window, func() { close(ended) })
	if kind == oneWay {
		if err := binary.Read(c, binary.BigEndian, &rate); err != nil {
			return 0, err
		}
		return rate, <-closed
	}
	here, tail := receive(c)
	if err := <-closed; err != nil {
		return 0, err
	}
	if len(tail) < 8 {
		return 0, io.ErrUnexpectedEOF
	}
	if _, err := binary.Decode(tail, binary.BigEndian, &rate); err != nil {
		return 0, err
	}
	return min(rate, here), nil
}

// Package wire encodes messages of roles for the network.
//
// It answers one question: which bytes is a message with its payload, between processes?
//
// A frame is one message: a header of HeaderSize bytes and the payload, little endian, with a length that is
// a multiple of 8. Frames may follow each other. Every array in a frame starts at a multiple of 8 from the
// frame's first byte. On a little-endian machine, therefore, neither direction copies arrays: an encoded
// frame aliases the arrays of the payload, and a decoded payload aliases the frame. A message has exactly one
// encoding: decoding a frame and encoding the result gives the same bytes.
//
//	frame, err := wire.Encode(identity, message, payload)         // frame.Segments are the bytes
//	header, payload, rest, err := wire.Decode(data)               // the first frame of data
//
// A receiver of bytes that may be false calls ParseHeader, checks the Header (see Fence and Header.Size), and
// then calls Header.Payload.
//
// To encode another type of payload, write a file with its two functions, which use writeArray, readArray and
// the methods number and uint64, and add a line to the table in payload.go.
//
// # Why not protobuf
//
// Neither side copies arrays here: a decoded payload aliases the frame. Protobuf would copy them.
package wire

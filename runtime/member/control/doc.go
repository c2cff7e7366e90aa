// Package control is what the processes of a run say to each other beside the
// data, as protobuf messages: control.proto, and the Go code that
//
//	go test ./runtime/member/control -rewrite
//
// makes from it.
package control

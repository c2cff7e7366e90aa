// Package oip holds the messages of the Open Inference Protocol over gRPC, as protobuf messages. oip.proto
// defines them; the Go code is generated from it by
//
//	go test ./runtime/inference/oip -rewrite
package oip

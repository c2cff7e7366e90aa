// Package control holds the control messages between the processes of a run and its host, as protobuf
// messages. Package member sends and checks them. control.proto defines them; the Go code is generated from
// it by
//
//	go test ./runtime/member/control -rewrite
package control

// Package prototest keeps generated code of protobuf messages equal to their definition, in tests.
package prototest

import (
	"flag"
	"os"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the generated code")

// Generated compares name.pb.go of the package of a test with what name.proto generates. With the flag
// -rewrite it writes the file.
func Generated(t *testing.T, name string) {
	t.Helper()
	want := generate(t, name+".proto")
	if *rewrite {
		if err := os.WriteFile(name+".pb.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name + ".pb.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s.pb.go differs from what %s.proto generates (−); run go test -rewrite:\n%s", name, name,
			diff)
	}
}

// generate returns the Go code that protoc would make with protoc-gen-go.
func generate(t *testing.T, definition string) []byte {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{},
		SourceInfoMode: protocompile.SourceInfoStandard}
	files, err := compiler.Compile(t.Context(), definition)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{definition},
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])},
		Parameter:      proto.String("paths=source_relative"),
	})
	if err != nil {
		t.Fatal(err)
	}
	internal_gengo.GenerateFile(plugin, plugin.Files[0])
	response := plugin.Response()
	if response.Error != nil {
		t.Fatal(*response.Error)
	}
	return []byte(response.File[0].GetContent())
}

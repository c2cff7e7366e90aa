package control

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

var rewrite = flag.Bool("rewrite", false, "rewrite control.pb.go")

// The Go code must be the one that is generated from control.proto.
func TestCodeIsGenerated(t *testing.T) {
	want := generate(t)
	if *rewrite {
		if err := os.WriteFile("control.pb.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("control.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("control.pb.go differs from what control.proto generates (−); run go test -rewrite:\n%s",
			diff)
	}
}

// generate returns the Go code that protoc would make with protoc-gen-go.
func generate(t *testing.T) []byte {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{},
		SourceInfoMode: protocompile.SourceInfoStandard}
	files, err := compiler.Compile(t.Context(), "control.proto")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{"control.proto"},
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

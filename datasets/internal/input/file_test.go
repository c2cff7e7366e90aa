package input

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// URLs of files name paths of this machine; other addresses stay as they are.
func TestPathsOfURLs(t *testing.T) {
	for address, want := range map[string]string{
		"file:///a/b.csv": "/a/b.csv", "file://localhost/a%20b": "/a b", "/a/b": "/a/b", "a b": "a b",
		"s3://a/b": "s3://a/b", "file://host/a": "", "file://": "", "file:///a?b=c": "", "file:///%zz": "",
	} {
		got, err := Path(address)
		if got != want || (err == nil) != (want != "") ||
			err != nil && err.Error() != address+": no URL of a file: write file:///folder/clicks.csv" {
			t.Errorf("%s: %q, error %v, want %q", address, got, err, want)
		}
	}
}

// Files are opened by their path or URL, with their size, and what cannot be opened is named.
func TestOpenFile(t *testing.T) {
	folder, refused := t.TempDir(), errors.New("there is no such object")
	path := filepath.Join(folder, "rows.csv")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	RegisterURLs("opened", func(url string) (File, error) {
		if url != "opened://a/b" {
			return nil, refused
		}
		return OpenFile(path)
	})
	defer delete(openers, "opened")
	for _, address := range []string{path, "file://" + path, "opened://a/b"} {
		f, err := OpenFile(address)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if string(text) != "12345" || err != nil || f.Size() != 5 || f.Close() != nil {
			t.Errorf("%s: %q, error %v, %d bytes", address, text, err, f.Size())
		}
	}
	f, err := OpenFile(folder)
	if err != nil || f.Size() != 0 || f.Close() != nil {
		t.Errorf("a folder: %v, error %v", f, err)
	}
	missing := filepath.Join(folder, "none")
	for address, want := range map[string]string{
		missing:             missing + ": file does not exist: check the path, or TANDEM_DATA if",
		"file://" + missing: missing + ": file does not exist: check the path",
		"file://host/x":     "file://host/x: no URL of a file",
		"opened://c":        "opened://c: " + refused.Error(),
		"other://c":         `other://c: URLs of scheme "other" cannot be opened`,
	} {
		_, err := OpenFile(address)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", address, err, want)
		}
		if strings.HasSuffix(address, "none") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is not that it does not exist", address, err)
		}
	}
	if _, err := Open(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Folders that URLs name are listed by what is registered for their scheme.
func TestListsByScheme(t *testing.T) {
	RegisterLists("listed", func(url string) ([]Object, error) { return []Object{{Name: url}}, nil })
	defer delete(listers, "listed")
	if got, err := List("listed://a/b"); err != nil || len(got) != 1 || got[0].Name != "listed://a/b" {
		t.Errorf("%v, error %v", got, err)
	}
	if _, err := List("nothing://a"); err == nil ||
		!strings.HasPrefix(err.Error(), "this program lists no objects of nothing://: build it with") {
		t.Error(err)
	}
}

// The order of the bytes of UTF-16 follows from a mark, or from zeros around characters of ASCII.
func TestOrderOfUTF16(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\xff\xfea\x00,\x00\n\x00", "a,\n"}, {"\xfe\xff\x00a\x00,\x00\n", "a,\n"},
		{"a\x00,\x00\n\x00", "a,\n"}, {"\x00a\x00,\x00\n", "a,\n"}, {"a\x00b", "a\x00b"}, {"ab", "ab"},
		{"a\x00\x00\x00", "a\x00\x00\x00"}, {"\x00\x00\x00a", "\x00\x00\x00a"}, {"", ""},
		{"\xef\xbb\xbfab", "ab"},
	} {
		in, err := New("x", strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if string(got) != c.want || err != nil {
			t.Errorf("%q is %q, error %v, want %q", c.text, got, err, c.want)
		}
		wide := c.text != c.want && !strings.HasPrefix(c.text, "\xef")
		if in.Encoding != map[bool]string{true: "utf-16"}[wide] || in.Failed != nil {
			t.Errorf("%q has the encoding %q, error %v", c.text, in.Encoding, in.Failed)
		}
	}
}

// A position is known of files alone, of which some bytes are read ahead.
func TestPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, make([]byte, 1<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.ReadFull(in, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if read, size := in.Position(); read < 100_000 || read == size || size != 1<<18 {
		t.Errorf("%d of %d bytes are read", read, size)
	}
	if read, size := Plain("x", strings.NewReader("abc")).Position(); read != 0 || size != 0 {
		t.Errorf("%d of %d bytes of no file are read", read, size)
	}
}

package member

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A reason is valid UTF-8 also if it quotes the bytes of a file or is cut within a letter.
func TestReasonsAreText(t *testing.T) {
	for _, reason := range []string{"a path: \xff\xfe", strings.Repeat("ü", reasonMax)} {
		if got := truncate(reason); !utf8.ValidString(got) || len(got) > reasonMax+len("\ufffd") ||
			len(got) == 0 {
			t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
		}
	}
	if got := truncate("disk full"); got != "disk full" {
		t.Errorf("a reason becomes %q", got)
	}
}

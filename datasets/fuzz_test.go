package datasets

import (
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"

	"errors"
	"strings"
	"testing"
)

// fuzzFormat checks for arbitrary text that decoding neither panics nor returns a batch that
// contradicts its schema, that only errors of the file as a whole remain when all bad rows are
// skipped, and that blocks of any size give the rows of sequential reading.
func fuzzFormat(f *testing.F, cfg job.Data, seeds ...string) {
	for _, seed := range append(seeds, `{"`) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if in, err := input.New("file", strings.NewReader(text)); err != nil {
			return // not the file that its first bytes claim
		} else if in.Compression == "" && !in.JSON {
			// With bad rows before a truncation, either error is right. Lines of JSON have a fuzz target of
			// their own.
			sameRows(t, cfg, text, len(text)%3, 2, 1+len(text)%97)
		}
		b, _, err := readText(cfg, text, len(text)+1)
		if errors.Is(err, ErrBadRow) {
			t.Fatalf("a bad row was not skipped: %v", err)
		}
		if err != nil {
			return
		}
		schema := WithDim(formatOf(&cfg).Schema, 1)
		if err := checkColumns(&schema, b); err != nil {
			t.Fatal(err)
		}
		if all := batch.Slice(b, 0, b.Samples); len(all.Slots[0].IDs) != len(b.Slots[0].IDs) {
			t.Fatal("offsets do not cover the ids")
		}
	})
}

func FuzzCriteo(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindCriteo}, criteoLine("1", "5", "0a"), criteoLine("0", "", ""),
		criteoLine("x", "-", "\xff"), "\t\n\n\r\n")
}

func FuzzLibfm(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindLibFM}, "1 3:1 4:1\n-1\t5:1\n", "0 :1\n+1 3:0x1p0", "\x00",
		"1 3:1:1")
}

func FuzzCSV(f *testing.F) {
	fuzzFormat(f, testCSV(), csvHeader+"ann,30,x|y,1,\n", csvHeader+"\"a\nb\",1,,0,\n\"",
		"\ufeff"+csvHeader+"a,1e400,|,1,1\n", `{"user":"ann","age":30,"tags":["x","y"],"click":1}`+"\n{")
}

func FuzzAdult(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindCSV, CSV: adultColumns()},
		"|1x3 Cross validator\n39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, "+
			"Not-in-family, White, Male, 2174, 0, 40, ?, <=50K.\n")
}

func FuzzAvazu(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindAvazu}, avazuHeader+avazuRow, avazuShortHeader+avazuShortRow,
		avazuHeader+"\n,,,")
}

func FuzzTaobao(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindTaobaoAd}, taobaoRow(nil)+"\n", strings.Join(taobaoColumns(), ",")+
		"\n"+taobaoRow(map[int]string{264: "x"}))
}

func FuzzMovieLens(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindMovieLens}, "1\t7\t4\t881250949\n", "\t\t5\t\n", "1\t2")
}

func FuzzMovieLensImplicit(f *testing.F) {
	fuzzFormat(f, job.Data{Kind: job.KindMovieLensImplicit}, "1-2-3-4,5-6\n", "---,-\n", "1,2")
}

func FuzzOnBadRow(f *testing.F) {
	f.Add("fail")
	f.Add("skip:100")
	f.Fuzz(func(t *testing.T, text string) {
		var policy, again job.OnBadRow
		if policy.UnmarshalText([]byte(text)) != nil {
			return
		}
		back, _ := policy.MarshalText()
		if err := again.UnmarshalText(back); err != nil || again != policy {
			t.Fatalf("%q became %q, which is %+v, error %v", text, back, again, err)
		}
	})
}

package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"tandem/algo/exec/exectest"
	"tandem/algo/exec/replay"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// A stream records the inputs of one role and the outputs that the role returned. Reading a stream needs
// neither the job's data nor its parameters. New and Recording.Replay run the streams of all roles of a run
// again.
func Example() {
	var stream bytes.Buffer
	j := exectest.Job(2, 1)
	config, err := j.RoleConfig(&model.Layout{Buckets: []model.Bucket{{Lo: 0, Hi: 10}}}, 0, 4)
	if err != nil {
		panic(err)
	}
	w, err := replay.NewWriter(&stream, replay.Header{Role: msg.Address{Role: msg.DataLoader},
		Config: *config})
	if err != nil {
		panic(err)
	}
	start := role.Input{Kind: role.Start}
	if err := w.Step(0, &start, nil, nil); err != nil {
		panic(err)
	}
	done := role.Input{
		Kind: role.WorkDone, Work: role.Work{Kind: role.Read, Step: 3},
		Result: role.Result{
			// by rank
			Samples: []int32{8, 8}, IDBytes: []unit.Bytes{200, 180}, SampleBytes: []unit.Bytes{64, 64},
		},
	}
	if err := w.Step(125, &done, nil, nil); err != nil {
		panic(err)
	}
	if err := w.Finish(0); err != nil {
		panic(err)
	}

	r, err := replay.NewReader(bytes.NewReader(stream.Bytes()), "data-loader-0")
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Header().Role)
	for {
		step, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			panic(err)
		}
		if step.Input.Kind == role.Start {
			fmt.Println(step.Now, "start")
		} else {
			fmt.Println(step.Now, step.Input.Work.Kind, "of step", step.Input.Work.Step, "has samples",
				step.Input.Result.Samples)
		}
	}
	// Output:
	// data-loader 0
	// 0ns start
	// 125ns read of step 3 has samples [8 8]
}

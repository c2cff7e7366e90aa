package job

import (
	"strings"
	"testing"

	"tandem/algo/protocol/delay"
	"tandem/algo/unit"
)

// followJob returns a valid job for files that arrive.
func followJob() Job {
	j := Default()
	j.Name, j.Cluster = "clicks", PersiaCluster()
	j.Data = Data{Kind: KindFollow, Path: "clicks", CSV: &Table{Slots: []IDColumn{{Column: "user"}},
		Label: "click"}}
	j.Training.Shuffle = false
	return j
}

func TestFollowIsValidated(t *testing.T) {
	if j := followJob(); j.validateFile() != nil || j.Data.Format() != KindCSV ||
		j.Data.Table() != j.Data.CSV {
		t.Error(j.validateFile())
	}
	parquet := followJob()
	parquet.Data.CSV, parquet.Data.Parquet = nil, parquet.Data.CSV
	if parquet.validateFile() != nil || parquet.Data.Format() != KindParquet ||
		parquet.Data.Table() != parquet.Data.Parquet {
		t.Error(parquet.validateFile())
	}
	for want, change := range map[string]func(j *Job){
		"data.path":                func(j *Job) { j.Data.Path = "" },
		`data.path: "s3://b/c"`:    func(j *Job) { j.Data.Path = "s3://b/c" },
		"data.train, test, split":  func(j *Job) { j.Data.Split.Test = 0.1 },
		"data.stream":              func(j *Job) { j.Data.Stream = true },
		"data.cache":               func(j *Job) { j.Data.Cache = "/cache" },
		`data.complete: "soon"`:    func(j *Job) { j.Data.Complete = "soon" },
		"data.csv, parquet":        func(j *Job) { j.Data.CSV = nil },
		"data.csv, parquet: kind":  func(j *Job) { j.Data.Parquet = j.Data.CSV },
		"data.complete: only used": func(j *Job) { j.Data.Kind, j.Data.Complete = KindCSV, CompleteRenamed },
		`data.from: "gs://b"`:      func(j *Job) { j.Data.From = "gs://b" },
		"data.from: a URL with":    func(j *Job) { j.Data.From = "s3://key:secret@bucket/clicks/" },
		"with TANDEM_KAFKA_USER":   func(j *Job) { j.Data.From = "kafka://me:secret@broker:9092/clicks" },
		"data.from, block: only":   func(j *Job) { j.Data.Kind, j.Data.From = KindCSV, FromInput },
		"data.parquet: the rows of from": func(j *Job) {
			j.Data.From, j.Data.CSV, j.Data.Parquet = FromInput, nil, j.Data.CSV
		},
		"data.complete: \"followed\": only without": func(j *Job) {
			j.Data.From, j.Data.Complete = FromInput, CompleteFollowed
		},
		`data.block: only used with from: "-" or kafka`: func(j *Job) { j.Data.Block.Rows = 5 },
		"data.block: -1 rows, 0": func(j *Job) {
			j.Data.From, j.Data.Block.Rows = FromInput, -1
		},
		"data.block: 0 rows, 2h": func(j *Job) {
			j.Data.From, j.Data.Block.Time = FromInput, 2*unit.Hour
		},
		"training.epochs = 2":     func(j *Job) { j.Training.Epochs = 2 },
		"training.shuffle":        func(j *Job) { j.Training.Shuffle = true },
		"training.evaluate-every": func(j *Job) { j.Training.EvaluateEvery.Time = unit.Second },
		"rows.hot":                func(j *Job) { j.Rows.Hot.Share = 0.1 },
		"training.delay": func(j *Job) {
			j.Training.Mode, j.Training.Delay = Sequential, delay.Spec{Kind: delay.Exactly, Steps: 2}
		},
	} {
		j := followJob()
		change(&j)
		if err := j.validateFile(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

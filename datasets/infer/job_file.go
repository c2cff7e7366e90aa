package infer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// explained are the keys of a job file that follow from a table, with what they mean and why they have their
// values. All other keys have the defaults of jobs.
var explained = []struct{ key, text string }{
	{"name", "Name of the job, from the file; results folders have it."},
	{"data", "The rows, and what each column is."},
	{"data.kind", "csv: delimited text with a header. parquet: a Parquet file."},
	{"data.path", "The file; a relative path starts at TANDEM_DATA or, where that is not set, at this file."},
	{"data.on-bad-row", "What a malformed row does: fail, or skip:N to drop and count up to N of them."},
	{"data.stream", "The rows stay in the file, which is larger than memory allows."},
	{"data.split", "Which rows are test rows."},
	{"data.split.test", "Share of the rows; without it 0.2."},
	{"data.split.how", "random: drawn with a seed. last: the last rows. time: the latest rows by a column."},
	{"data.split.column", "The column of how: time. It is no feature, as test rows have later " +
		"times than all " +
		"others."},
	{"data.csv", "The columns. Those that are not named here are left out."},
	{"data.csv.delimiter", "The character between fields, as found in the first line."},
	{"data.csv.slots", "Columns of ids: whole numbers that repeat, and texts. Every id gets an " +
		"embedding. A separator divides a field into several ids."},
	{"data.csv.numeric", "Columns of numbers: some have fractions, or most are different. They are " +
		"standardised by the training rows."},
	{"data.csv.missing", "Texts for a missing number, which becomes the mean of its column; \"\" is an " +
		"empty field, or a null of a Parquet file."},
	{"data.csv.decimal-comma", "Columns whose numbers have a comma before their fraction, as in 1.234,5."},
	{"data.csv.thousands", "Columns whose numbers have commas between thousands, as in 16,711.5."},
	{"data.csv.label", "The column to predict."},
	{"data.csv.positive", "Its text in positive rows; by default 1."},
	{"data.csv.negative", "Its text in negative rows; by default 0."},
	{"data.csv.label-values", "shares: the labels are numbers from 0 to 1, such as the share of the views " +
		"of a row that were clicked. numbers: any numbers."},
	{"data.csv.weight", "What rows count in losses and metrics."},
	{"data.csv.impressions", "The label counts clicks of this column: what is learned is their share, and " +
		"a row counts once for each."},
	{"data.derived", "Slots of combined columns, and of intervals of numbers: the model that predicted " +
		"held-back rows best has them. Edges are the least numbers of intervals."},
	{"data.means", "Slots whose ids are numbers, too: the log odds of the mean of the label over other " +
		"training rows with the id."},
	{"model", "The dense network over embeddings and numbers."},
	{"model.kind", "deepfm: a logistic regression, products of pairs of embeddings and a network, added " +
		"up. logistic-regression: where it predicted held-back rows better."},
	{"model.embedding-dim", "Values of an embedding: 8, or 16 from 200,000 training rows, which " +
		"can fill more."},
	{"model.wide", "Slots whose ids have a weight alone: factors of pairs of ids would learn the rows by " +
		"heart."},
	{"model.top", "Widths of the hidden layers: small ones, since embeddings hold most of the model. A " +
		"logistic regression has none."},
	{"model.loss", "squared: for labels that are numbers."},
	{"model.heads", "One for each label. bias is ln(p/(1−p)) of the share p of positive training rows, " +
		"so that predictions begin there. center and scale are the mean and the standard deviation of a " +
		"label that is a number."},
	{"model.optimizer", "Of the network's weights."},
	{"model.optimizer.kind", "adam, or adagrad for a logistic regression: steps adapt to each weight."},
	{"model.optimizer.rate", "Learning rate: what the authors of Adam propose, or 0.1 for Adagrad."},
	{"rows", "The embedding rows."},
	{"rows.init", "Initial values are uniform in (−init, init). Small ones, so that a rare id changes a " +
		"prediction little; 0 for a logistic regression."},
	{"rows.optimizer", "Of the rows."},
	{"rows.optimizer.kind", "adagrad: rows that many samples contain take smaller steps."},
	{"rows.optimizer.order", "after: a step's own gradient counts in its divisor."},
	{"rows.optimizer.rate", "Learning rate: a step divided by the number of id columns, whose steps add " +
		"up. The step is 0.5, or chosen for a logistic regression."},
	{"rows.optimizer.initial-accumulator", "1/global-batch², the square of one sample's share of a " +
		"gradient: rows learn from their first sample on. Change it with global-batch."},
	{"training", "How the model is trained."},
	{"training.mode", "hybrid: rows asynchronously, the network in lock step; see docs/algorithm.md."},
	{"training.global-batch", "Samples of a step: a power of two with about 1,000 steps an epoch, " +
		"from 16 to 4,096."},
	{"training.epochs", "Passes over the training rows. Held-back rows chose: more would fit noise."},
	{"training.staleness", "How many earlier batches of a rank a read may miss: 1 keeps ranks busy " +
		"and costs little."},
	{"training.seed", "Of parameters, and of the order of rows."},
	{"roles", "How many instances of each role."},
	{"roles.ranks", "NN workers, which share each step."},
}

// JobFile returns the text of a job file of a job for a table. Every key has a comment: what it means, and
// why it has its value. comment is a first comment of the file, without number signs.
func JobFile(j job.Job, comment string) ([]byte, error) {
	text, err := yaml.Marshal(j)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	keep(document.Content[0], "")
	var out bytes.Buffer
	fmt.Fprintln(&out, cli.Wrap("# "+comment, "# "))
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&document); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// keep keeps the keys of a mapping that are explained, with their comments.
func keep(mapping *yaml.Node, prefix string) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		path := prefix + key.Value
		// The columns of a Parquet file have the keys of those of delimited text.
		as := strings.Replace(path, "data.parquet", "data.csv", 1)
		at := slices.IndexFunc(explained, func(e struct{ key, text string }) bool { return e.key == as })
		if at < 0 {
			continue
		}
		key.HeadComment = cli.Wrap("# "+explained[at].text, "# ")
		if value.Kind == yaml.MappingNode {
			keep(value, path+".")
		}
		kept = append(kept, key, value)
	}
	mapping.Content = kept
}

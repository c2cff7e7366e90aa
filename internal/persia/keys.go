package persia

// counterparts have what becomes of each key: a sentence for one without a counterpart, and nothing for one
// that read translates. Sections have had several names.
var counterparts = map[string]string{
	"common_config.metrics_config.enable_metrics":        "--metrics-address of cmd/train serves them",
	"common_config.metrics_config.push_interval_seconds": "nothing is pushed: Prometheus reads the metrics",
	"common_config.metrics_config.push_interval_sec":     "nothing is pushed: Prometheus reads the metrics",
	"common_config.job_type":                             predictsApart,
	"common_config.intent":                               predictsApart,
	"common_config.infer_config":                         "cmd/serve MODEL takes the folder of a model",
	"common_config.checkpointing_config":                 "PSs write at the same time",
	"common_config.num_embedding_io_workers":             "the cores are shared by all work",
	"server.num_hashmap_internal_shards":                 "a PS is one shard: add roles.embedding-ps",
	"server.num_embedding_io_workers":                    "the cores are shared by all work",
	"server.enable_incremental_update":                   servesChanges,
	"server.incremental_buffer_size":                     "--checkpoint-every says when changes are written",
	"server.incremental_dir":                             "changes are in RESULTS/<mode>/checkpoints",
	"server.incremental_channel_capacity":                "one checkpoint is written at a time",
	"worker.forward_buffer_size":                         "what is in flight is bounded by training.prefetch",
	"worker.buffered_data_expired_sec":                   "a batch is kept until it is done",
	"feature_index_prefix_bit":                           "the prefixes of slots are chosen by their number",
}

// Long sentences of counterparts.
const (
	predictsApart = "cmd/train trains; cmd/model predict and cmd/serve predict"
	servesChanges = "--checkpoint-every 2s of cmd/train, with cmd/serve --follow RESULTS"
)

// sections are the names of sections, with what counterparts calls them.
var sections = map[string]string{
	"embedding_parameter_server_config": "server", "embedding_server_config": "server",
	"shard_server_config": "server", "embedding_worker_config": "worker", "middleware_config": "worker",
}

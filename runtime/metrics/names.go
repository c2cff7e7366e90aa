package metrics

// The metrics of every process.
var (
	BuildInfo = &Metric{"tandem_build_info", Gauge, "The program, its commit and its Go version; always 1."}
	StartTime = &Metric{"process_start_time_seconds", Gauge, "Start of the process, in seconds since 1970."}
	CPUTime   = &Metric{"process_cpu_seconds_total", Counter,
		"Time that cores have spent on the process, in seconds."}
	ResidentMemory = &Metric{"process_resident_memory_bytes", Gauge,
		"Memory of the process that is resident."}
	HeapMemory = &Metric{"go_memstats_heap_alloc_bytes", Gauge,
		"Memory of Go's heap in use; rows are outside of it."}
	Goroutines = &Metric{"go_goroutines", Gauge, "Goroutines that exist."}
	Refusals   = &Metric{"tandem_refused_total", Counter,
		"What the process has refused from other processes, by reason: strangers, invalid messages, …"}
	RowMemory = &Metric{"tandem_row_memory_bytes", Gauge,
		"Memory outside of Go's heap that holds embedding rows and their index."}
)

// The metrics of trainings, with the labels mode and seed: in cmd/train, and in the host of processes.
var (
	Trainings     = &Metric{"tandem_trainings", Gauge, "Trainings of this command, in all modes and seeds."}
	TrainingsDone = &Metric{"tandem_trainings_done", Gauge, "Trainings that have ended."}
	Steps         = &Metric{"tandem_training_steps", Gauge, "Steps of the training, from begin to end."}
	StepsDone     = &Metric{"tandem_training_steps_done", Gauge, "Steps that nn-worker 0 has trained."}
	SamplesDone   = &Metric{"tandem_training_samples_done", Gauge, "Samples in these steps."}
	Elapsed       = &Metric{"tandem_training_elapsed_seconds", Gauge, "Time since the begin of the training."}
	Speed         = &Metric{"tandem_training_samples_per_second", Gauge, "Speed of the latest few seconds."}
	Loss          = &Metric{"tandem_training_loss_nats", Gauge,
		"Mean training loss of a sample in the latest steps. A squared loss is ½ (error / scale)² instead."}
	AUC  = &Metric{"tandem_evaluation_auc", Gauge, "AUC of the latest evaluation."}
	RMSE = &Metric{"tandem_evaluation_rmse", Gauge,
		"RMSE of the latest evaluation, in units of the label, with squared loss."}
	R2         = &Metric{"tandem_evaluation_r2", Gauge, "R² of the latest evaluation, with squared loss."}
	LogLoss    = &Metric{"tandem_evaluation_log_loss_nats", Gauge, "Log loss of the latest evaluation."}
	Evaluation = &Metric{"tandem_evaluation_step", Gauge, "Step of the latest evaluation."}
)

// The metrics of processes with roles, with the labels role and index.
var (
	RoleInfo = &Metric{"tandem_role_info", Gauge, "The roles of the process; always 1."}
	Events   = &Metric{"tandem_events_total", Counter,
		"What the role has recorded, by kind of event: batches read, lookups served, puts applied, …"}
	RowsRouted = &Metric{"tandem_rows_routed_total", Counter,
		"Distinct rows that an embedding worker has asked embedding PSs for."}
	StageTime = &Metric{"tandem_stage_seconds", Summary,
		"Time of batches in a stage of the NN worker: GE, FC, BC, DS or PEG. Stages overlap."}
	TrainedSamples = &Metric{"tandem_trained_samples_total", Counter,
		"Samples of which the NN workers of the process have computed the loss."}
	LossSum = &Metric{"tandem_loss_nats_total", Counter,
		"Sum of these losses; its rate divided by that of the samples is the mean loss."}
)

// The metrics of the GPUs of a process of cmd/node, with the labels gpu, which is a UUID, and name.
var (
	GPUUtilisation = &Metric{"tandem_gpu_utilization_ratio", Gauge,
		"Share of the latest second or less in which a kernel ran on the GPU, 0 to 1."}
	GPUMemoryUsed = &Metric{"tandem_gpu_memory_used_bytes", Gauge,
		"Memory of the GPU that any process uses."}
	GPUMemory      = &Metric{"tandem_gpu_memory_bytes", Gauge, "Memory of the GPU."}
	GPUPower       = &Metric{"tandem_gpu_power_watts", Gauge, "Power that the GPU draws."}
	GPUPowerLimit  = &Metric{"tandem_gpu_power_limit_watts", Gauge, "Power that the GPU may draw."}
	GPUTemperature = &Metric{"tandem_gpu_temperature_celsius", Gauge, "Temperature of the chip."}
	GPUClock       = &Metric{"tandem_gpu_clock_hertz", Gauge, "Clock of the multiprocessors or the memory."}
	GPULimited     = &Metric{"tandem_gpu_clock_limited", Gauge,
		"1 for each reason why the clocks are lower than they could be, but for idleness."}
)

// The metrics of cmd/serve.
var (
	Requests = &Metric{"tandem_requests_total", Counter,
		"Requests for predictions that cmd/serve has answered, by protocol (http or grpc) and its status."}
	RequestTime    = &Metric{"tandem_request_seconds", Summary, "Time of these requests, reading included."}
	PredictedRows  = &Metric{"tandem_predicted_rows_total", Counter, "Rows that cmd/serve has predicted."}
	BatchRequests  = &Metric{"tandem_batch_requests", Summary, "Requests that were computed together."}
	QueuedRequests = &Metric{"tandem_queued_requests", Gauge, "Requests that wait to be computed."}
	ServedStep     = &Metric{"tandem_served_model_step", Gauge, "Training steps of the model that is served."}
	Reloads        = &Metric{"tandem_model_reloads_total", Counter,
		"Newer models that cmd/serve has found: loaded with all rows, changes if only those that have " +
			"changed were read, refused for another schema or training, or failed to load."}
	ServedAge = &Metric{"tandem_served_model_age_seconds", Gauge,
		"Time since the training had the parameters of the model that is served."}
	ChangedRows = &Metric{"tandem_served_changed_rows_total", Counter,
		"Rows that were read because they had changed since the model before."}
	ServeDelay = &Metric{"tandem_serve_delay_seconds", Summary,
		"Time from when the training had the parameters of a newer model until the model was served."}
)

// All returns all metrics, in the order in which they are written.
func All() []*Metric {
	return []*Metric{
		BuildInfo, StartTime, CPUTime, ResidentMemory, HeapMemory, Goroutines, Refusals, RowMemory,
		Trainings, TrainingsDone, Steps, StepsDone, SamplesDone, Elapsed, Speed, Loss, AUC, LogLoss, RMSE, R2,
		Evaluation,
		RoleInfo, Events, RowsRouted, StageTime, TrainedSamples, LossSum,
		GPUUtilisation, GPUMemoryUsed, GPUMemory, GPUPower, GPUPowerLimit, GPUTemperature, GPUClock,
		GPULimited,
		Requests, RequestTime, PredictedRows, BatchRequests, QueuedRequests,
		ServedStep, ServedAge, Reloads, ChangedRows, ServeDelay,
	}
}

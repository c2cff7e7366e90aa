package cluster

// Persia returns the main cluster of Persia's evaluation: servers of 8 V100s,
// and 100 CPU instances of 52 cores and 480 GB, on a network of 100 Gbit/s. How
// the instances were split among roles is not published; the split is a guess
// with a range. GPUs do not reach each other directly: a note in the scaling
// figures says that NCCL's peer-to-peer transfers were off. The host of the GPU
// servers is not published either and is taken to be like the CPU instances.
//
// Source: Lian and others, arXiv 2111.05897, the evaluation's cluster.
func Persia() Spec {
	const instance = "xeon-52-core-480gb"
	return Spec{
		Accelerator: "V100-SXM2-32GB", AcceleratorsPerServer: 8, Precision: "fp32",
		Inside: "nvlink2-off", HostLink: "pcie3-x16", Server: instance,
		Network:          "ethernet-100g",
		EmbeddingWorkers: guessed(instance, 20, 40, 60),
		ParameterServers: guessed(instance, 30, 50, 70),
		Loaders:          guessed(instance, 5, 10, 20),
		Software:         DefaultSoftware(), Fold: true,
		Source: "Persia (Lian et al., KDD 2022): 100 CPU instances in all; their split among roles, and the hosts of the GPUs, are not published",
	}
}

// GoogleCloud returns the cluster on which Persia trained 100 trillion
// parameters: 8 a2-highgpu-8g servers of 8 A100s, 100 c2-standard-30 with an EW
// each, and 30 m2-ultramem-416 with 4 PSs each. The data loaders were 240 pods
// of one core on the servers' spare cores; they are taken as 8 hosts of 30.
// PyTorch of the time multiplied in TF32 on A100s by default.
//
// Source: the manifests of Persia's tutorials, October 2021.
func GoogleCloud() Spec {
	return Spec{
		Accelerator: "A100-SXM4-40GB", AcceleratorsPerServer: 8, Precision: "tf32",
		Inside: "nvlink3", HostLink: "pcie4-x16", Server: "a2-highgpu-8g",
		Network:          "ethernet-100g",
		EmbeddingWorkers: Hosts{Profile: "c2-standard-30", Count: 100, PerHost: 1},
		ParameterServers: Hosts{Profile: "m2-ultramem-416", Count: 30, PerHost: 4},
		Loaders:          guessed("c2-standard-30", 4, 8, 16),
		Software:         DefaultSoftware(), Fold: true,
		Source: "Persia's tutorials, Google Cloud manifests (2021-10); of the loaders only pods and cores are known",
	}
}

//go:build kafka

package main

import _ "tandem/datasets/kafka" // reads topics of Kafka; its client takes long to build

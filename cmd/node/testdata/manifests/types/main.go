// Command types decodes the manifests of a folder into the types of Kubernetes and of Compose, strictly. It is
// a module of its own, so that Tandem does not depend on either.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%d manifests, %v", len(files), err)
	}
	for _, file := range files {
		check := kubernetes
		if strings.HasSuffix(file, "-compose.yaml") {
			check = compose
		}
		if err := check(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func kubernetes(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return err
		}
		into := map[string]any{"ConfigMap": &core.ConfigMap{}, "PersistentVolumeClaim": &core.PersistentVolumeClaim{},
			"Service": &core.Service{}, "NetworkPolicy": &networking.NetworkPolicy{}, "Job": &batch.Job{},
			"PodDisruptionBudget": &policy.PodDisruptionBudget{}}[kind.Kind]
		if into == nil {
			return fmt.Errorf("kind %q", kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
	}
	return nil
}

func compose(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithResolvedPaths(true))
	if err != nil {
		return err
	}
	_, err = options.LoadProject(context.Background())
	return err
}

// Copyright: (c) 2026, accelerator.ops contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// An NRI plugin that gives a container the CDI device which an annotation of its pod names.
package main

import (
	"context"
	"log"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

type plugin struct{}

func (plugin) CreateContainer(_ context.Context, pod *api.PodSandbox, _ *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	adjust := &api.ContainerAdjustment{}
	if name, ok := pod.GetAnnotations()["accelerator.ops/device"]; ok {
		adjust.AddCDIDevice(&api.CDIDevice{Name: name})
	}
	return adjust, nil, nil
}

func main() {
	s, err := stub.New(plugin{}, stub.WithPluginName("give-device"), stub.WithPluginIdx("10"))
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

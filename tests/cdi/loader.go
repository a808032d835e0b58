// Copyright: (c) 2026, accelerator.ops contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// What the CDI loader that an engine embeds makes of spec files: loader FOLDER
//
// FOLDER holds cases, a case holds spec folders in rising order of precedence. One line of JSON for each case: the
// files that load, the reason why each other one does not, and the devices that resolve. A panic, with which an engine
// would go down, counts as a refusal.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"tags.cncf.io/container-device-interface/pkg/cdi"
)

type outcome struct {
	Case    string            `json:"case"`
	Loaded  []string          `json:"loaded"`
	Refused map[string]string `json:"refused"`
	Devices []string          `json:"devices"`
	Crashed bool              `json:"crashed"`
}

func read(path string) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	_, err = cdi.ReadSpec(path, 0)
	return err
}

func resolve(folders []string) (devices []string, crashed bool) {
	defer func() {
		if thrown := recover(); thrown != nil {
			devices, crashed = nil, true
		}
	}()
	cache, err := cdi.NewCache(cdi.WithSpecDirs(folders...), cdi.WithAutoRefresh(false))
	if cache == nil {
		panic(err)
	}
	return cache.ListDevices(), false
}

func glob(pattern ...string) []string {
	found, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		panic(err)
	}
	return found
}

func main() {
	answers := json.NewEncoder(os.Stdout)
	for _, place := range glob(os.Args[1], "*") {
		folders := glob(place, "*")
		answer := outcome{Case: filepath.Base(place), Loaded: []string{}, Refused: map[string]string{}}
		for _, folder := range folders {
			for _, path := range glob(folder, "*") {
				name, _ := filepath.Rel(place, path)
				if err := read(path); err != nil {
					answer.Refused[name] = err.Error()
				} else {
					answer.Loaded = append(answer.Loaded, name)
				}
			}
		}
		answer.Devices, answer.Crashed = resolve(folders)
		if err := answers.Encode(answer); err != nil {
			panic(err)
		}
	}
}

// Package templates holds the workflow templates of runonce, one idea a file, as they are deployed and copied.
//
// Each file's header says its purpose, its params and what it guarantees. Each lints clean and runs in
// workflows/engine. The package only embeds them, for the demo, the tests and the tools; people copy the files.
package templates

import "embed"

// FS holds the templates: orders.yaml and its neighbours.
//
//go:embed *.yaml
var FS embed.FS

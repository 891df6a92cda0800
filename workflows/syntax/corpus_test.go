package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notWorkflows are files of the corpus that the service would refuse as they stand: templates of Terraform, in which $${ stands
// for ${ and ${ for a value to be filled in.
var notWorkflows = map[string]string{
	"GoogleCloudPlatform+serverless-photosharing-workshop/workflows__workflows_tf.yaml":                        "conditions begin with $${",
	"GoogleCloudPlatform+terraform-google-analytics-lakehouse/src__yaml__copy-data.yaml":                       "names of Terraform variables, and $${",
	"GoogleCloudPlatform+terraform-google-analytics-lakehouse/src__yaml__project-setup.yaml":                   "conditions begin with $${",
	"bqfun+jpdata/terraform__modules__dataform__templates__bqfunc.tftpl.yaml":                                  "conditions begin with $${",
	"bqfun+jpdata/terraform__modules__dataform__templates__source_contents.tftpl.yaml":                         "the retry policy begins with $${",
	"bqfun+jpdata/terraform__modules__houjinbangou_change_history_diff__templates__source_contents.tftpl.yaml": "conditions begin with $${",
	"sano307+cloud-workflows-demo/modules__integration-cloud-source-repository__workflow.yaml":                 "names of Terraform variables",
}

// TestCorpus parses real workflows, where they are at hand. A file that is none as it stands is named with its reason.
func TestCorpus(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("../../../shared/corpus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no corpus of real workflows beside the project")
	}
	parsed := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".tsv") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		w, err := Parse(name, src)
		if err == nil {
			places(t, w)
		}
		switch reason := notWorkflows[filepath.ToSlash(name)]; {
		case err == nil && reason == "":
			parsed++
		case err == nil:
			t.Errorf("%s parsed, although %s", name, reason)
		case reason == "":
			t.Errorf("%v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files parsed", parsed)
}

package workflowstest

import "regexp"

const maxLabels = 64

var (
	labelKey   = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
)

// checkLabels holds labels to what executions.proto and workflows.proto document of them.
func checkLabels(field string, labels map[string]string) error {
	if len(labels) > maxLabels {
		return invalid(field, "%d labels; at most %d are allowed", len(labels), maxLabels)
	}
	for k, v := range labels {
		if !labelKey.MatchString(k) {
			return invalid(field, "key %q: 1 to 63 lower-case letters, digits, underscores and dashes, the first a letter", k)
		}
		if !labelValue.MatchString(v) {
			return invalid(field, "value %q of %s: at most 63 lower-case letters, digits, underscores and dashes", v, k)
		}
	}
	return nil
}

package proxy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// rule is one entry of Targets.
type rule struct {
	pattern string
	sources []string
}

func parseRule(s string) (rule, error) {
	pattern, list, given := strings.Cut(strings.TrimSpace(s), "=")
	r := rule{pattern: pattern, sources: []string{sourceScheduler}}
	if given {
		r.sources = strings.Split(list, "+")
	}
	if _, err := path.Match(pattern, ""); err != nil || !strings.HasPrefix(pattern, "projects/") {
		return rule{}, fmt.Errorf("target %q: want a resource name like projects/P/locations/L/workflows/W, * for a segment", pattern)
	}
	if !slices.ContainsFunc([]string{"/workflows/", "/jobs/", "/triggers/"}, func(kind string) bool { return strings.Contains(pattern, kind) }) {
		return rule{}, fmt.Errorf("target %q: want /workflows/, /jobs/ or /triggers/ in it", pattern)
	}
	if strings.HasPrefix(pattern, "projects/*/") {
		return rule{}, fmt.Errorf("target %q: name the project; a pattern over all projects is no allow-list", pattern)
	}
	for _, name := range r.sources {
		if _, ok := sources[name]; !ok {
			return rule{}, fmt.Errorf("target %q: no source %q; there are %s", pattern, name, strings.Join(sourceNames(), ", "))
		}
	}
	return r, nil
}

func parseRules(list []string) ([]rule, error) {
	var rules []rule
	for _, s := range list {
		r, err := parseRule(s)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// allowed returns the sources that a target accepts; the first rule that matches decides. nil: the target is not in the list.
func allowed(rules []rule, target string) []string {
	i := slices.IndexFunc(rules, func(r rule) bool {
		ok, err := path.Match(r.pattern, target)
		return ok && err == nil
	})
	if i < 0 {
		return nil
	}
	return rules[i].sources
}

// anyOf reports whether some rule is for a kind of target, as "/jobs/".
func anyOf(rules []rule, kind string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return strings.Contains(r.pattern, kind) })
}

var aliasPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// parseAliases reads Config.Aliases. What an alias stands for must be allowed and have an API.
func parseAliases(list []string, rules []rule) (map[string]string, error) {
	aliases := map[string]string{}
	for _, s := range list {
		alias, resource, ok := strings.Cut(strings.TrimSpace(s), "=")
		switch {
		case !ok || !aliasPattern.MatchString(alias):
			return nil, fmt.Errorf("alias %q: want ALIAS=RESOURCE, the alias of letters, digits, - and _", s)
		case aliases[alias] != "":
			return nil, fmt.Errorf("alias %q is there twice", alias)
		case !workflowName.MatchString(resource) && !jobName.MatchString(resource) && !triggerName.MatchString(resource):
			return nil, fmt.Errorf("alias %q: %q is the name of no workflow, job or trigger", alias, resource)
		case allowed(rules, resource) == nil:
			return nil, fmt.Errorf("alias %q: %s is not in TARGETS", alias, resource)
		}
		aliases[alias] = resource
	}
	return aliases, nil
}

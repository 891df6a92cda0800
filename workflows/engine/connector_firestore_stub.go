package engine

import (
	"fmt"
	"maps"
	"sort"
	"strings"
	"time"
)

const firestoreDocuments = "googleapis.firestore.v1.projects.databases.documents."

// firestoreStubs keep documents: create, get, patch, delete and list, with preconditions and update masks of top-level
// fields. Queries, commits and transactions need an endpoint (Config.Endpoints).
var firestoreStubs = map[string]stub{
	firestoreDocuments + "createDocument": func(s *Stubs, c ConnectorCall) (any, error) {
		parent, err := argText(c, "parent")
		if err != nil {
			return nil, err
		}
		collection, err := argText(c, "collectionId")
		if err != nil {
			return nil, err
		}
		id, _ := c.Args["documentId"].(string)
		if id == "" {
			id = fmt.Sprintf("doc%d", s.nextID())
		}
		name := parent + "/" + collection + "/" + id
		return s.keep("document", name, s.document(c, name, argMap(c, "body")["fields"], nil))
	},
	firestoreDocuments + "get": func(s *Stubs, c ConnectorCall) (any, error) {
		name, err := argText(c, "name")
		if err != nil {
			return nil, err
		}
		return s.find("document", name)
	},
	firestoreDocuments + "patch": func(s *Stubs, c ConnectorCall) (any, error) {
		name, err := argText(c, "name")
		if err != nil {
			return nil, err
		}
		if err := s.preconditionHolds(c, name); err != nil {
			return nil, err
		}
		old := s.names["document "+name]
		doc := s.document(c, name, masked(c, old), old)
		s.names["document "+name] = doc
		return doc, nil
	},
	firestoreDocuments + "delete": func(s *Stubs, c ConnectorCall) (any, error) {
		name, err := argText(c, "name")
		if err != nil {
			return nil, err
		}
		if err := s.preconditionHolds(c, name); err != nil {
			return nil, err
		}
		delete(s.names, "document "+name)
		return map[string]any{}, nil
	},
	firestoreDocuments + "list": func(s *Stubs, c ConnectorCall) (any, error) {
		parent, err := argText(c, "parent")
		if err != nil {
			return nil, err
		}
		collection, err := argText(c, "collectionId")
		if err != nil {
			return nil, err
		}
		return map[string]any{"documents": s.under("document " + parent + "/" + collection + "/")}, nil
	},
}

func (s *Stubs) document(c ConnectorCall, name string, fields any, old map[string]any) map[string]any {
	// The n-th change is n microseconds late, so that no two share an update time while the clock stands still.
	stamp := c.Now.Add(time.Duration(s.nextID()) * time.Microsecond).UTC().Format(time.RFC3339Nano)
	doc := map[string]any{"name": name, "fields": fields, "createTime": stamp, "updateTime": stamp}
	if fields == nil {
		doc["fields"] = map[string]any{}
	}
	if old != nil {
		doc["createTime"] = old["createTime"]
	}
	return doc
}

// masked is the fields after a patch: those of the body, or with a mask the old ones with the masked taken from the body.
func masked(c ConnectorCall, old map[string]any) any {
	body, _ := argMap(c, "body")["fields"].(map[string]any)
	paths, _ := argAt(c.Args, "updateMask.fieldPaths")
	mask, ok := paths.([]any)
	if single, isString := paths.(string); isString {
		mask, ok = []any{single}, true
	}
	if !ok {
		return body
	}
	before, _ := old["fields"].(map[string]any)
	fields := maps.Clone(before)
	if fields == nil {
		fields = map[string]any{}
	}
	for _, path := range mask {
		key, _ := path.(string)
		if v, there := body[key]; there {
			fields[key] = v
		} else {
			delete(fields, key)
		}
	}
	return fields
}

func (s *Stubs) preconditionHolds(c ConnectorCall, name string) error {
	doc := s.names["document "+name]
	exists, _ := argAt(c.Args, "currentDocument.exists")
	if want, ok := exists.(bool); ok && want != (doc != nil) {
		if want {
			return APIError(404, "NOT_FOUND", "No document to update: "+name)
		}
		return APIError(409, "ALREADY_EXISTS", "Document already exists: "+name)
	}
	updateTime, _ := argAt(c.Args, "currentDocument.updateTime")
	if want, ok := updateTime.(string); ok && (doc == nil || doc["updateTime"] != want) {
		return APIError(400, "FAILED_PRECONDITION", "the stored version does not match the required base version")
	}
	return nil
}

// under lists the resources right under a prefix, by name.
func (s *Stubs) under(prefix string) []any {
	var keys []string
	for k := range s.names {
		if rest, ok := strings.CutPrefix(k, prefix); ok && !strings.Contains(rest, "/") {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	list := make([]any, len(keys))
	for i, k := range keys {
		list[i] = s.names[k]
	}
	return list
}

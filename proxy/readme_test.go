package proxy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// statuses are the names that this package uses.
var statuses = map[string]int{
	"StatusBadRequest": 400, "StatusForbidden": 403, "StatusNotFound": 404, "StatusMethodNotAllowed": 405, "StatusConflict": 409, "StatusRequestEntityTooLarge": 413,
	"StatusUnprocessableEntity": 422, "StatusTooManyRequests": 429, "StatusInternalServerError": 500, "StatusBadGateway": 502,
}

// The README's table of status codes is what the code can answer: no more, no less.
func TestStatusTable(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(readme), -1) {
		documented[m[1]+" "+m[2]] = true
	}
	given := refusals(t)
	for _, r := range slices.Sorted(maps.Keys(given)) {
		if !documented[r] {
			t.Errorf("%s is given and not in the table", r)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(documented)) {
		if !given[r] {
			t.Errorf("%s is in the table and never given", r)
		}
		if strings.HasPrefix(r, strconv.Itoa(http.StatusServiceUnavailable)) {
			t.Errorf("%s: App Engine retries 503 outside the job's own count (R6)", r)
		}
	}
}

// refusals reads every call of refuse, badRequest and unauthorized in this package.
func refusals(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{"401 unauthenticated": true} // by unauthorized
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			switch {
			case ok && name.Name == "badRequest":
				add(found, 400, call.Args[0])
			case ok && name.Name == "refuse":
				if s, ok := call.Args[0].(*ast.SelectorExpr); ok && statuses[s.Sel.Name] != 0 {
					add(found, statuses[s.Sel.Name], call.Args[1])
				}
			}
			return true
		})
	}
	return found
}

func add(found map[string]bool, status int, code ast.Expr) {
	if lit, ok := code.(*ast.BasicLit); ok {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			found[strconv.Itoa(status)+" "+s] = true
		}
	}
}

// A5: a panic is an answer of 500 that keeps the cause to itself, not a dropped connection.
func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	s := &Server{log: NewLogger(log, "p")}
	w := httptest.NewRecorder()
	s.recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the cause") })).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "the cause") || !strings.Contains(log.String(), "the cause") {
		t.Errorf("got %d %s and the log %s; want 500, and the cause in the log alone", w.Code, w.Body, log)
	}
}

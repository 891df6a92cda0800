package firestoretest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

func TestReopen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s, c := start(t, Config{Dir: dir})
	set(t, c.Doc("c/gone"), map[string]any{"v": 1})
	a := set(t, c.Doc("c/a"), map[string]any{"v": 1, "m": map[string]any{"x": []any{1, "two", nil, 2.5, epoch}}})
	b := set(t, c.Doc("c/a/sub/b"), map[string]any{"ref": c.Doc("c/a")})
	must[*firestore.WriteResult](t)(c.Doc("c/gone").Delete(ctx))
	before := get(t, c.Doc("c/a"))
	if _, err := Open(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another server uses it") {
		t.Errorf("a second server on the folder: %v", err)
	}
	s.Close()

	s2, c2 := start(t, Config{Dir: dir, Clock: NewManual(epoch)}) // the new clock is behind
	after := get(t, c2.Doc("c/a"))
	if diff := cmp.Diff(before.Data(), after.Data()); diff != "" {
		t.Errorf("the document came back changed (-before +after):\n%s", diff)
	}
	if !after.UpdateTime.Equal(a.UpdateTime) || !after.CreateTime.Equal(before.CreateTime) || !after.ReadTime.After(b.UpdateTime) {
		t.Errorf("times %v, %v, %v after the restart, want %v, %v and a later read", after.UpdateTime, after.CreateTime, after.ReadTime, a.UpdateTime, before.CreateTime)
	}
	_, err := c2.Doc("c/gone").Get(ctx)
	wantStatus(t, err, codes.NotFound, "")
	if got := ids(t, c2.CollectionGroup("sub").Query); got != "b" {
		t.Errorf("the sub-collection came back with %q", got)
	}
	s2.Close()
	torn := must[*os.File](t)(os.OpenFile(filepath.Join(dir, logName), os.O_APPEND|os.O_WRONLY, 0))
	must[int](t)(torn.Write([]byte{200, 0, 0, 0, 1, 2, 3, 4, 5, 6}))
	ok(t, torn.Close())
	_, c3 := start(t, Config{Dir: dir})
	if got := get(t, c3.Doc("c/a")); !got.UpdateTime.Equal(a.UpdateTime) {
		t.Errorf("after a torn record the document was updated %v, want %v", got.UpdateTime, a.UpdateTime)
	}
}

// TestMain runs this binary as a server that a test kills, when it is asked to.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FIRESTORETEST_CHILD_DIR"); dir != "" {
		fmt.Println(New(Config{Dir: dir}).Addr())
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // ends with the parent at the latest
		return
	}
	os.Exit(m.Run())
}

// A server killed in the middle of commits comes back with every commit that it answered.
func TestKill(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	answered := map[string]bool{}
	for round := range 3 {
		child := exec.CommandContext(ctx, os.Args[0])
		child.Env = append(os.Environ(), "FIRESTORETEST_CHILD_DIR="+dir)
		must[any](t)(child.StdinPipe())
		stdout := must[interface{ Read([]byte) (int, error) }](t)(child.StdoutPipe())
		ok(t, child.Start())
		addr := must[string](t)(bufio.NewReader(stdout).ReadString('\n'))
		c := must[*firestore.Client](t)(dial(ctx, strings.TrimSpace(addr)))
		for name := range answered {
			get(t, c.Doc(name))
		}
		writeUntilKilled(ctx, c, child.Process, round, answered)
		_ = child.Wait()
		_ = c.Close()
	}
	if len(answered) < 30 {
		t.Errorf("only %d commits were answered", len(answered))
	}
}

// writeUntilKilled writes from several goroutines, kills the server after a while and notes the documents whose commit was answered.
func writeUntilKilled(ctx context.Context, c *firestore.Client, server *os.Process, round int, answered map[string]bool) {
	const writers = 4
	names := make(chan string)
	defer func() { _ = server.Kill() }() // also where a machine under load answered too few
	for w := range writers {
		go func() {
			defer func() { names <- "" }()
			for i := 0; ; i++ {
				call, cancel := context.WithTimeout(ctx, 2*time.Second) // the client repeats a refused call for as long
				name := fmt.Sprintf("c/%d-%d-%d", round, w, i)
				_, err := c.Doc(name).Create(call, map[string]any{"v": i})
				cancel()
				if err != nil {
					return
				}
				names <- name
			}
		}()
	}
	for n, left := 0, writers; left > 0; {
		name := <-names
		if name == "" {
			left--
			continue
		}
		answered[name] = true
		if n++; n == 40 {
			_ = server.Kill()
		}
	}
}

package schedulertest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Handler is the REST API: v1 and v1beta1 of projects.locations.jobs, with create, get, list, patch, delete, pause, resume and
// run, and of projects.locations get and list. Anything else answers 404 and says so.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, v := range []string{"/v1", "/v1beta1"} {
		const parent = "/projects/{project}/locations/{location}"
		mux.HandleFunc("GET "+v+"/projects/{project}/locations", s.handleLocations)
		mux.HandleFunc("GET "+v+parent, s.handleLocation)
		mux.HandleFunc("POST "+v+parent+"/jobs", s.handleCreate)
		mux.HandleFunc("GET "+v+parent+"/jobs", s.handleList)
		mux.HandleFunc("GET "+v+parent+"/jobs/{job}", s.handleGet)
		mux.HandleFunc("PATCH "+v+parent+"/jobs/{job}", s.handlePatch)
		mux.HandleFunc("DELETE "+v+parent+"/jobs/{job}", s.handleDelete)
		mux.HandleFunc("POST "+v+parent+"/jobs/{job}", s.handleVerb)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answerREST(w, nil, &Error{404, "NOT_FOUND", r.Method + " " + r.URL.Path + " is not imitated"})
	})
	return mux
}

func parentOf(r *http.Request) string {
	return "projects/" + r.PathValue("project") + "/locations/" + r.PathValue("location")
}

func nameOf(r *http.Request) string { return parentOf(r) + "/jobs/" + r.PathValue("job") }

func (s *Server) handleCreate(w http.ResponseWriter, r *http.Request) {
	j, err := readJob(r, new(wireJob))
	if err == nil {
		if j.Name == "" {
			s.mu.Lock()
			s.serial++
			j.Name = parentOf(r) + "/jobs/job-" + strconv.Itoa(s.serial)
			s.mu.Unlock()
		}
		if !strings.HasPrefix(j.Name, parentOf(r)+"/jobs/") {
			err = invalid("job name %q is not of %s", j.Name, parentOf(r))
		}
	}
	if err == nil {
		j, err = s.CreateJob(j)
	}
	answerREST(w, toWire(j), err)
}

func (s *Server) handleGet(w http.ResponseWriter, r *http.Request) {
	j, err := s.Job(nameOf(r))
	answerREST(w, toWire(j), err)
}

func (s *Server) handleList(w http.ResponseWriter, r *http.Request) {
	size := 500
	if text := r.URL.Query().Get("pageSize"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			answerREST(w, nil, invalid("pageSize %q", text))
			return
		}
		if n > 0 {
			size = min(n, size)
		}
	}
	list := struct {
		Jobs []wireJob `json:"jobs,omitempty"`
		Next string    `json:"nextPageToken,omitempty"`
	}{}
	for _, j := range s.Jobs(parentOf(r)) {
		if j.Name <= r.URL.Query().Get("pageToken") {
			continue
		}
		if len(list.Jobs) == size {
			list.Next = list.Jobs[size-1].Name
			break
		}
		list.Jobs = append(list.Jobs, toWire(j))
	}
	answerREST(w, list, nil)
}

// handlePatch changes the fields that updateMask names, or those that the body has where there is no mask.
func (s *Server) handlePatch(w http.ResponseWriter, r *http.Request) {
	old, err := s.Job(nameOf(r))
	if err != nil {
		answerREST(w, nil, err)
		return
	}
	j, err := patched(toWire(old), r)
	if err == nil {
		j.Name = nameOf(r)
		j, err = s.UpdateJob(j)
	}
	answerREST(w, toWire(j), err)
}

func patched(old wireJob, r *http.Request) (Job, error) {
	mask := r.URL.Query().Get("updateMask")
	if mask == "" {
		return readJob(r, &old)
	}
	var change wireJob
	if _, err := readJob(r, &change); err != nil {
		return Job{}, err
	}
	w, err := masked(old, change, mask)
	if err != nil {
		return Job{}, err
	}
	return fromWire(w)
}

func (s *Server) handleDelete(w http.ResponseWriter, r *http.Request) {
	answerREST(w, struct{}{}, s.DeleteJob(nameOf(r)))
}

// handleVerb answers jobs/J:pause, :resume and :run. A run goes on after the answer.
func (s *Server) handleVerb(w http.ResponseWriter, r *http.Request) {
	name, verb, _ := strings.Cut(nameOf(r), ":")
	var j Job
	var err error
	switch verb {
	case "pause":
		j, err = s.Pause(name)
	case "resume":
		j, err = s.Resume(name)
	case "run":
		if j, err = s.Job(name); err == nil {
			s.inFlight.Go(func() { _, _ = s.Force(s.ctx, name) }) // how it ends is in the log
		}
	default:
		err = &Error{404, "NOT_FOUND", "the method " + verb + " of jobs is not imitated"}
	}
	answerREST(w, toWire(j), err)
}

func (s *Server) handleLocation(w http.ResponseWriter, r *http.Request) {
	answerREST(w, map[string]string{"name": parentOf(r), "locationId": r.PathValue("location")}, nil)
}

func (s *Server) handleLocations(w http.ResponseWriter, r *http.Request) {
	name := "projects/" + r.PathValue("project") + "/locations/" + s.cfg.Location
	answerREST(w, map[string]any{"locations": []map[string]string{{"name": name, "locationId": s.cfg.Location}}}, nil)
}

// readJob reads a job over what base has.
func readJob(r *http.Request, base *wireJob) (Job, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 2<<20))
	if err != nil {
		return Job{}, invalid("read the body: %v", err)
	}
	if err := json.Unmarshal(body, base); err != nil {
		return Job{}, invalid("the body is no job: %v", err)
	}
	return fromWire(*base)
}

func answerREST(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{500, "INTERNAL", err.Error()}
		}
		w.WriteHeader(e.HTTP)
		v = map[string]any{"error": map[string]any{"code": e.HTTP, "status": e.Status, "message": e.Message}}
	}
	_ = json.NewEncoder(w).Encode(v) // the client has gone; there is nobody to tell
}

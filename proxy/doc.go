// Package proxy is the service between Cloud Scheduler and the API that a job used to call: it claims each run in Firestore
// and starts it once. It is for operators who change a job's host, and OAuth to OIDC, and nothing else.
//
// A source (source_<trigger>.go) turns a delivery into a run; a target (target_<api>.go) starts it and can find what an
// earlier attempt started; handle_<verb>.go puts the two together under guard.Do, so that starting is a guarded step like
// any other. config.go says what can be set, check.go which settings contradict each other, auth.go who may call.
//
// Not here: the protocol of claims (functions/guard), the names of runs (tokens), and what happens in the workflow.
package proxy

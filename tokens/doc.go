// Package tokens names a scheduled run and everything it does, so that whoever is asked to do a thing twice can tell.
//
// RunID turns a delivery into the root token, 64 hex digits that are equal for every delivery of one run. Step makes the
// token of one state-changing operation of it: "run_id/step" or "run_id/step/key", key being the item in a loop. UUID,
// Label, BigQueryJobID and the others render a token as the field of an API that deduplicates by itself. Fingerprint tells
// a repeat from another payload under the same token. FromHeader, SetHeader and Transport carry the token over HTTP.
//
// It is for the proxy that starts workflows, for functions, and for whoever wants only the names: the folder imports the
// standard library and nothing else, so it can be copied into another module as it is.
//
// Not here: keeping a record of what was done (functions/guard does), and authentication. A token is a name, not a secret
// and not a permission.
//
// # What must never change
//
// A token that changes between two versions of a program makes a duplicate look like new work. testdata/vectors.json holds
// what every function returns for given input; a change that breaks a vector needs a new key version (see Key) and a time
// in which both are honoured.
package tokens

package firestoretest

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The errors that callers see again and again, in the service's words.
var (
	errContention = status.Error(codes.Aborted, "Too much contention on these documents. Please try again.")
	errExpired    = status.Error(codes.Aborted, "The referenced transaction has expired or is no longer valid.")
	errUnknownTx  = status.Error(codes.InvalidArgument, "Invalid transaction.")
	errReadOnlyTx = status.Error(codes.InvalidArgument, "Cannot modify entities in a read-only transaction.")
	errRetryRO    = status.Error(codes.InvalidArgument, "Cannot retry a read-only transaction")
	errTooOld     = status.Error(codes.FailedPrecondition, "The requested snapshot version is too old.")
)

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func unimplemented(what string) error {
	return status.Errorf(codes.Unimplemented, "firestoretest: %s is not implemented", what)
}

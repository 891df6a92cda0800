package workflowstest

import (
	"fmt"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// invalid is INVALID_ARGUMENT with the field that is wrong in its details.
func invalid(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	st := status.Newf(codes.InvalidArgument, "%s: %s", field, text)
	detailed, err := st.WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}},
	})
	if err != nil {
		return st.Err()
	}
	return detailed.Err()
}

func wrongName(field, got, form string) error {
	return invalid(field, "%q is not of the form %s", got, form)
}

func notFound(name string) error {
	return status.Errorf(codes.NotFound, "Resource '%s' was not found", name)
}

// httpStatus is the HTTP status of a canonical code (google/rpc/code.proto).
func httpStatus(c codes.Code) int {
	switch c {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Canceled:
		return 499
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// codeName is a code as REST errors have it: NOT_FOUND.
func codeName(c codes.Code) string { return code.Code(c).String() }

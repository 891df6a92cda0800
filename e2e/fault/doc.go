// Package fault makes a fake service fail by plan: the n-th call of a method is refused, executed with its answer lost,
// delayed, held until the test lets it go, executed twice or aborted. The same Plan stands in front of a gRPC server, an
// http.Handler or an http.RoundTripper, counts every call and keeps a log of them, so that a test can first count the calls of a
// scenario and then fail each of them in turn.
//
// Faults live here, in fakes and in transports; the code under test has no hook for them. A nil *Plan is a plan without faults
// and without a log. What it does not do: break a connection in the middle of a message, or reorder the messages of one stream.
package fault

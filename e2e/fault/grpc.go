package fault

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// UnaryServer is the plan as an interceptor of a gRPC server's unary calls.
func (p *Plan) UnaryServer() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		call, rule := p.arrive(info.FullMethod)
		resp, err := rule.unary(ctx, req, handler)
		p.leave(call, status.Code(err), 0)
		return resp, err
	}
}

// StreamServer is the plan as an interceptor of a gRPC server's streams. Lose swallows what the handler sends and ends the stream
// with the error. Lose and Duplicate fit calls with one request; a stream with many requests answers UNIMPLEMENTED to them.
func (p *Plan) StreamServer() grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		call, rule := p.arrive(info.FullMethod)
		err := rule.stream(srv, ss, info, handler)
		p.leave(call, status.Code(err), 0)
		return err
	}
}

func (r Rule) err() error { return status.Error(r.code(), r.message()) }

func (r Rule) unary(ctx context.Context, req any, handler grpc.UnaryHandler) (any, error) {
	if r.Kind == Refuse || r.Kind == Abort {
		return nil, r.err()
	}
	if err := r.before(ctx); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if r.Kind == Duplicate {
		_, _ = handler(ctx, req) // the first answer is the one nobody hears
	}
	resp, err := handler(ctx, req)
	if r.Kind == Lose {
		return nil, r.err()
	}
	if werr := r.after(ctx); werr != nil {
		return nil, status.FromContextError(werr).Err()
	}
	return resp, err
}

func (r Rule) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if r.Kind == Refuse || r.Kind == Abort {
		return r.err()
	}
	if (r.Kind == Lose || r.Kind == Duplicate) && info.IsClientStream {
		return status.Errorf(codes.Unimplemented, "fault: %v does not fit %s, a stream of requests", r.Kind, info.FullMethod)
	}
	if err := r.before(ss.Context()); err != nil {
		return status.FromContextError(err).Err()
	}
	switch r.Kind {
	case Lose:
		_ = handler(srv, &mute{ServerStream: ss})
		return r.err()
	case Duplicate:
		first := &mute{ServerStream: ss}
		_ = handler(srv, first)
		ss = &replay{ServerStream: ss, got: first.got}
	}
	if r.After {
		return r.heldStream(srv, ss, handler)
	}
	return handler(srv, ss)
}

// heldStream executes a stream and sends its messages only after the wait.
func (r Rule) heldStream(srv any, ss grpc.ServerStream, handler grpc.StreamHandler) error {
	kept := &mute{ServerStream: ss}
	err := handler(srv, kept)
	if werr := r.after(ss.Context()); werr != nil {
		return status.FromContextError(werr).Err()
	}
	for _, m := range kept.sent {
		if serr := ss.SendMsg(m); serr != nil {
			return serr
		}
	}
	return err
}

// mute keeps what a handler receives and sends, and sends nothing.
type mute struct {
	grpc.ServerStream
	got, sent []any
}

func (m *mute) RecvMsg(msg any) error {
	err := m.ServerStream.RecvMsg(msg)
	if pm, ok := msg.(proto.Message); ok && err == nil {
		m.got = append(m.got, proto.Clone(pm))
	}
	return err
}

func (m *mute) SendMsg(msg any) error {
	m.sent = append(m.sent, msg)
	return nil
}

// replay hands out the messages that an earlier execution received.
type replay struct {
	grpc.ServerStream
	got []any
}

func (s *replay) RecvMsg(msg any) error {
	if len(s.got) == 0 {
		return io.EOF
	}
	proto.Merge(msg.(proto.Message), s.got[0].(proto.Message))
	s.got = s.got[1:]
	return nil
}

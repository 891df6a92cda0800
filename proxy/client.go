package proxy

import (
	"net"
	"strings"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// clientOptions are those of a Google API client for an endpoint: "" is Google's own; one on loopback, a fake, is spoken to in plain text.
func clientOptions(endpoint string) []option.ClientOption {
	if endpoint == "" {
		return nil
	}
	endpoint = strings.TrimPrefix(strings.TrimPrefix(endpoint, "http://"), "https://")
	opts := []option.ClientOption{option.WithEndpoint(endpoint)}
	if loopback(endpoint) {
		opts = append(opts, option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	}
	return opts
}

func loopback(endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

package access

import (
	"fmt"
	"net"
	"strings"
)

// IsLoopback reports whether the name that a request was sent to (host, or host:port) is one of this machine. Where there are no
// keys nothing else is served, so that no foreign name can be pointed at this machine by a web page.
func IsLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Exposed reports whether an address to listen on, as HOST:PORT, is reached by others than this machine.
func Exposed(listen string) (bool, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false, fmt.Errorf("listen address %q: %w", listen, err)
	}
	if host == "localhost" {
		return false, nil
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback(), nil
}

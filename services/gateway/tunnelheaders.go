package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/heddle-run/heddle/shared/frames"
)

// hopByHop are headers that are about one connection alone.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// kept are headers that are for the gateway alone: its callers' keys and cookies, and what proxies before it may say or anybody may make up.
var kept = []string{
	"Authorization", "Cookie", "Forwarded", "X-Real-Ip", "Expect",
	"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions", "Sec-Websocket-Accept",
}

// swallowed are headers by which an answer would speak for the gateway's address, to its browsers.
var swallowed = []string{
	"Set-Cookie", "Strict-Transport-Security", "Clear-Site-Data", "Alt-Svc", "Service-Worker-Allowed", "Nel", "Report-To", "Accept-Ch", "Www-Authenticate",
	"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol",
}

// stripped is a copy of headers without those, the hop's, and those that Connection names.
func stripped(from http.Header, without []string) http.Header {
	to := maps.Clone(from)
	for _, line := range from.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			to.Del(textproto.TrimString(name))
		}
	}
	for _, name := range slices.Concat(hopByHop, without) {
		to.Del(name)
	}
	return to
}

// passedOn are the headers of a request that the attempt gets.
func passedOn(r *http.Request) ([]frames.Header, error) {
	from := stripped(r.Header, kept)
	maps.DeleteFunc(from, func(name string, _ []string) bool { return strings.HasPrefix(name, "X-Forwarded-") })
	from.Set("Host", r.Host)
	if r.ContentLength >= 0 {
		from.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	if offered := offeredProtocols(r); len(offered) > 0 {
		from.Set("Sec-Websocket-Protocol", strings.Join(offered, ", "))
	} else {
		from.Del("Sec-Websocket-Protocol")
	}
	var all []frames.Header
	size := 0
	for _, name := range slices.Sorted(maps.Keys(from)) {
		for _, v := range from[name] {
			if !utf8.ValidString(v) {
				return nil, refuseField("invalid_parameter", name, "is no UTF-8")
			}
			all = append(all, frames.Header{Name: name, Value: v})
			size += len(name) + len(v)
		}
	}
	if size > frames.MaxTunnelHeaders {
		return nil, refuse("headers_too_large", fmt.Sprintf("the headers have %d bytes, the limit is %d", size, frames.MaxTunnelHeaders))
	}
	return all, nil
}

// offeredProtocols are the sub-protocols that a request offers, but for the one that is its key.
func offeredProtocols(r *http.Request) (all []string) {
	for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			p = textproto.TrimString(p)
			if key, err := frames.ParseTokenProtocol([]string{p}); p != "" && key == "" && err == nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// handedBack puts the headers of an answer into that of the gateway. A page of an attempt is no page of the gateway's: a browser
// gives it an origin of its own.
func handedBack(to http.Header, all []frames.Header) {
	from := http.Header{}
	for _, h := range all {
		from.Add(h.Name, h.Value)
	}
	for name, values := range stripped(from, swallowed) { // order: of headers of different names there is none
		if !strings.HasPrefix(name, "Access-Control-") {
			to[name] = values
		}
	}
	to.Add("Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups allow-downloads")
	to.Set("X-Content-Type-Options", "nosniff")
}

package executor

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// hostRules say where requests may go. They are pure: names are resolved
// elsewhere, and every address is checked when it is dialled.
type hostRules struct {
	hosts    []string // lower case; empty: all
	loopback bool
	private  bool
	networks []netip.Prefix
}

func newHostRules(r HTTPRules) (hostRules, error) {
	out := hostRules{loopback: r.AllowLoopback || r.AllowPrivate, private: r.AllowPrivate, networks: r.Networks}
	for _, h := range r.Hosts {
		name := strings.TrimPrefix(h, "*.")
		if name == "" || strings.ContainsAny(name, "*/:@ ") {
			return out, fmt.Errorf("executor: http.hosts: %q is no host name and no *.suffix", h)
		}
		out.hosts = append(out.hosts, strings.ToLower(h))
	}
	return out, nil
}

// checkURL refuses what is no absolute http or https URL of an allowed host.
func (r hostRules) checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL %q must begin with http:// or https://", u.Redacted())
	case u.Hostname() == "":
		return fmt.Errorf("the URL %q has no host", u.Redacted())
	case !r.named(strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))):
		return fmt.Errorf("the host %q is not in the allow-list (http.hosts)", u.Hostname())
	}
	return nil
}

func (r hostRules) named(host string) bool {
	for _, h := range r.hosts {
		if suffix, ok := strings.CutPrefix(h, "*"); ok {
			if strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
				return true
			}
		} else if h == host {
			return true
		}
	}
	return len(r.hosts) == 0
}

// checkAddr refuses addresses that are not of the public internet, unless the
// rules allow them.
func (r hostRules) checkAddr(addr netip.Addr) error {
	addr = innermost(addr.WithZone(""))
	for _, n := range r.networks {
		if n.Contains(addr) {
			return nil
		}
	}
	kind, allowed := r.kindOf(addr)
	if kind == "" || allowed {
		return nil
	}
	return fmt.Errorf("the address %v is %s, which the settings do not allow", addr, kind)
}

func (r hostRules) kindOf(addr netip.Addr) (kind string, allowed bool) {
	switch {
	case addr.IsLoopback():
		return "a loopback address", r.loopback
	case addr.IsPrivate(), within(addr, sharedNetworks):
		return "a private address", r.private
	case addr.IsLinkLocalUnicast():
		return "a link-local address", false
	case addr.IsUnspecified(), addr.IsMulticast(), addr.IsInterfaceLocalMulticast(), within(addr, reservedNetworks):
		return "a reserved address", false
	}
	return "", true
}

// innermost unwraps IPv4 addresses that IPv6 carries (mapped, NAT64, 6to4): the
// packet would end at the inner one.
func innermost(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")

	// sharedNetworks are private in effect.
	sharedNetworks = prefixes("100.64.0.0/10", "fec0::/10", "64:ff9b:1::/48")
	// reservedNetworks are for documentation, benchmarks, protocols, the future.
	reservedNetworks = prefixes(
		"0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "100::/64", "2001::/23", "2001:db8::/32",
	)
)

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func within(addr netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

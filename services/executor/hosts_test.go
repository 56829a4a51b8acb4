package executor

import (
	"net/netip"
	"net/url"
	"testing"
)

func TestAddressesThatAreNotPublicAreRefusedUnlessAllowed(t *testing.T) {
	none := hostRules{}
	loopback := hostRules{loopback: true}
	private := hostRules{loopback: true, private: true}
	listed := hostRules{networks: []netip.Prefix{netip.MustParsePrefix("169.254.1.0/24"), netip.MustParsePrefix("10.1.0.0/16")}}
	for _, c := range []struct {
		addr                            string
		none, loopback, private, listed bool
	}{
		{"93.184.216.34", true, true, true, true},
		{"2606:2800:220:1::1", true, true, true, true},
		{"127.0.0.1", false, true, true, false},
		{"127.8.9.1", false, true, true, false},
		{"::1", false, true, true, false},
		{"::ffff:127.0.0.1", false, true, true, false}, // mapped
		{"10.0.0.1", false, false, true, false},
		{"10.1.2.3", false, false, true, true},
		{"172.16.0.1", false, false, true, false},
		{"172.32.0.1", true, true, true, true},
		{"192.168.1.1", false, false, true, false},
		{"100.64.0.1", false, false, true, false},
		{"fd00::1", false, false, true, false},
		{"::ffff:10.0.0.1", false, false, true, false},
		{"64:ff9b::10.0.0.1", false, false, true, false},   // NAT64
		{"64:ff9b::93.184.216.34", true, true, true, true}, //
		{"2002:7f00:1::", false, true, true, false},        // 6to4 of 127.0.0.1
		{"169.254.169.254", false, false, false, false},    // metadata of clouds
		{"169.254.1.9", false, false, false, true},         //
		{"::ffff:169.254.169.254", false, false, false, false},
		{"fe80::1", false, false, false, false},
		{"fe80::1%eth0", false, false, false, false},
		{"0.0.0.0", false, false, false, false},
		{"::", false, false, false, false},
		{"::127.0.0.1", false, false, false, false}, // IPv4-compatible, deprecated
		{"224.0.0.1", false, false, false, false},
		{"255.255.255.255", false, false, false, false},
		{"192.0.2.1", false, false, false, false},
		{"198.18.0.1", false, false, false, false},
		{"2001:db8::1", false, false, false, false},
	} {
		addr := netip.MustParseAddr(c.addr)
		for _, r := range []struct {
			name  string
			rules hostRules
			want  bool
		}{{"no rules", none, c.none}, {"loopback", loopback, c.loopback}, {"private", private, c.private}, {"listed", listed, c.listed}} {
			if err := r.rules.checkAddr(addr); (err == nil) != r.want {
				t.Errorf("%s with %s: %v, want allowed: %v", c.addr, r.name, err, r.want)
			}
		}
	}
}

func TestOnlyNamedHostsAreAllowed(t *testing.T) {
	rules, err := newHostRules(HTTPRules{Hosts: []string{"api.example.com", "*.Example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[string]bool{
		"https://api.example.com/x":           true,
		"https://API.EXAMPLE.COM./x":          true,
		"http://api.example.com:8080/":        true,
		"https://user:pw@api.example.com/":    true,
		"https://example.com/":                false,
		"https://www.api.example.com/":        false,
		"https://a.example.org/":              true,
		"https://a.b.example.org/":            true,
		"https://example.org/":                false,
		"https://badexample.org/":             false,
		"https://api.example.com.evil.net/":   false,
		"https://api.example.com@evil.net/":   false,
		"ftp://api.example.com/":              false,
		"file:///etc/passwd":                  false,
		"//api.example.com/":                  false,
		"https:///x":                          false,
		"https://127.0.0.1/":                  false,
		"https://[::ffff:7f00:1]/":            false,
		"gopher://api.example.com/":           false,
		"https://api.example.com%2eevil.net/": false,
	} {
		parsed, err := url.Parse(u)
		if err != nil {
			if want {
				t.Errorf("%s: %v", u, err)
			}
			continue
		}
		if err := rules.checkURL(parsed); (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %v", u, err, want)
		}
	}
	for _, bad := range []string{"", "*", "*.", "a*.example.com", "https://example.com", "example.com:80", "a b"} {
		if _, err := newHostRules(HTTPRules{Hosts: []string{bad}}); err == nil {
			t.Errorf("the host rule %q was taken", bad)
		}
	}
}

package runners

import (
	"fmt"
	"net/url"
	"strings"
)

// CheckOrigin says what is wrong with an origin of Config.Origins.
func CheckOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host || strings.ContainsAny(u.Host, `*?\`) {
		return fmt.Errorf("%q is no origin of web pages, want https://HOST or https://HOST:PORT", text)
	}
	return nil
}

// literal keeps the characters of an address from being a pattern's.
var literal = strings.NewReplacer(`[`, `\[`, `]`, `\]`)

// patterns are the origins as the WebSocket library takes them.
func patterns(origins []string) (all []string) {
	for _, o := range origins {
		all = append(all, literal.Replace(o))
	}
	return all
}

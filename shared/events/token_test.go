package events_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
)

var key = events.Key("a deployment's secret")

func tokens() *rapid.Generator[events.Token] {
	return rapid.Custom(func(t *rapid.T) events.Token {
		number := func(name string) uint64 { return random{t}.integer(name) }
		return events.Token{
			Workflow: rapid.StringMatching(`[A-Za-z0-9._:/-]{1,40}`).Draw(t, "workflow"),
			Run:      events.RunID{Epoch: number("run epoch"), Seq: number("run seq")},
			Runnable: events.RunnableID(number("runnable")),
			Attempt:  rapid.Uint32().Draw(t, "attempt"),
			Decided:  events.Position{Epoch: number("epoch"), Seq: number("seq")},
		}
	})
}

func TestATokenOpensToWhatWasSealed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := tokens().Draw(t, "token")
		text := events.TokenText(key.Seal(want))
		sealed, err := events.ParseTokenText(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := key.Open(sealed)
		if err != nil || got != want {
			t.Fatalf("opened %+v, %v, want %+v", got, err, want)
		}
		if peeked, err := events.PeekToken(sealed); err != nil || peeked != want {
			t.Fatalf("peeked %+v, %v", peeked, err)
		}
	})
}

// Workers hold tokens while their planners are replaced by later versions.
func TestTheFormOfATokenStays(t *testing.T) {
	const sealed = "634ac32226a204af93bb4ccdea51306f03ac02070204f0a2046f726465722d3432"
	tok := events.Token{Workflow: "order-42", Run: events.RunID{Epoch: 3, Seq: 300}, Runnable: 7, Attempt: 2, Decided: events.Position{Epoch: 4, Seq: 70000}}
	if got := hex.EncodeToString(key.Seal(tok)); got != sealed {
		t.Errorf("sealed as %s, want %s", got, sealed)
	}
}

func TestAChangedTokenDoesNotOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sealed := key.Seal(tokens().Draw(t, "token"))
		bit := rapid.IntRange(0, 8*len(sealed)-1).Draw(t, "bit")
		sealed[bit/8] ^= 1 << (bit % 8)
		if tok, err := key.Open(sealed); !errors.Is(err, events.ErrToken) {
			t.Fatalf("bit %d changed: %+v, %v", bit, tok, err)
		}
	})
}

func TestATokenOfAnotherDeploymentDoesNotOpen(t *testing.T) {
	sealed := events.Key("another secret of theirs").Seal(events.Token{Workflow: "w"})
	if _, err := key.Open(sealed); !errors.Is(err, events.ErrToken) {
		t.Fatalf("err = %v", err)
	}
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	for _, s := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAA", "not base64!", "AAAAAAAAAAAAAAAAAAAAAAAA=="} {
		if b, err := events.ParseTokenText(s); err == nil {
			if _, err := events.PeekToken(b); !errors.Is(err, events.ErrToken) {
				t.Errorf("%q is a token: %v", s, err)
			}
		}
	}
	if _, err := key.Open(nil); !errors.Is(err, events.ErrToken) {
		t.Errorf("nothing opens: %v", err)
	}
}

// The text of a token is an argument on a command line: none looks like a flag.
func TestNoTokensTextBeginsWithADash(t *testing.T) {
	sealed := make([]byte, 40)
	for first := range 256 {
		sealed[0] = byte(first)
		text := events.TokenText(sealed)
		back, err := events.ParseTokenText(text)
		if strings.HasPrefix(text, "-") || err != nil || !bytes.Equal(back, sealed) {
			t.Errorf("%x has the text %s, which is %x, %v", sealed, text, back, err)
		}
	}
	if _, err := events.ParseTokenText(strings.TrimPrefix(events.TokenText(sealed), "t")); err == nil {
		t.Error("a token without its prefix is read")
	}
}

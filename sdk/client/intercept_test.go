package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
)

func TestTheFirstInterceptorIsTheOutermost(t *testing.T) {
	var told []string
	tells := func(name string) client.Interceptor {
		return func(next client.Handler) client.Handler {
			return func(ctx context.Context, c *client.Call) error {
				told = append(told, name+" "+c.Name)
				err := next(ctx, c)
				if !errors.Is(err, client.ErrNotFound) {
					t.Errorf("%s saw %v", name, err)
				}
				return err
			}
		}
	}
	c, err := client.New(t.Context(), client.Options{URL: devtest.Running().URL, Interceptors: []client.Interceptor{tells("outer"), tells("inner")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Get(t.Context(), "nobody"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the caller saw %v", err)
	}
	if want := []string{"outer workflow", "inner workflow"}; !slices.Equal(told, want) {
		t.Errorf("called %q, want %q", told, want)
	}
}

// An interceptor may keep a call from being carried out.
func TestAnInterceptorMayRefuse(t *testing.T) {
	closed := errors.New("closed for the night")
	never := func(client.Handler) client.Handler {
		return func(context.Context, *client.Call) error { return closed }
	}
	c, err := client.New(t.Context(), client.Options{URL: devtest.Running().URL, Interceptors: []client.Interceptor{never}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Start(t.Context(), double, 1, client.StartOptions{ID: "refused"}); !errors.Is(err, closed) {
		t.Errorf("the start ended with %v", err)
	}
	for _, err := range c.Run("refused").Events(t.Context()) {
		if !errors.Is(err, closed) {
			t.Errorf("the events ended with %v", err)
		}
	}
}

func TestAClientIsNotMadeForAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.New(ctx, client.Options{URL: "http://127.0.0.1:1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

package client

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A pace lets so many go, whoever asks and however late, saves nothing up, and begins with
// a wait: runs that follow each other keep it together.
func TestAPaceIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for range 2 { // two runs
			p := newPace(10)
			var asking sync.WaitGroup
			for range 25 {
				asking.Go(func() {
					if err := p.take(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			asking.Wait()
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("50 at 10 a second took %s", took)
		}
		p := newPace(10)
		time.Sleep(time.Minute)
		began = time.Now()
		for range 11 {
			if err := p.take(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("11 after an idle minute took %s", took)
		}
		p.hold(3 * time.Second)
		if err := p.take(t.Context()); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("one that was held went after %s, %v", time.Since(began), err)
		}
	})
}

func TestAWaitForItsTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := newPace(0.1).take(ctx); err == nil {
			t.Error("it did not end")
		}
		free := newPace(0)
		for range 1000 {
			if err := free.take(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

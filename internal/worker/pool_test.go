package worker

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// named are attempts of workflows w0, w1, … of one letter each.
func named(workflows string) (out []*Attempt) {
	for _, w := range strings.Split(workflows, "") {
		out = append(out, &Attempt{Workflow: w})
	}
	return out
}

func offered(p *pool, attempts []*Attempt) *offer {
	o := newOffer()
	p.offer(o, attempts)
	return o
}

func TestConsumersOfAPoolTakeTurns(t *testing.T) {
	p := newPool(nil, Pool{Slots: 1})
	one, other := offered(p, named("abc")), offered(p, named("xy"))
	var got string
	for range 5 {
		got += p.next(nil).Workflow
	}
	if got != "axbyc" {
		t.Errorf("taken in the order %s, want axbyc", got)
	}
	if !closed(one.taken) || !closed(other.taken) {
		t.Error("a consumer does not know that all it offered is taken")
	}
}

func TestWhatIsWithdrawnIsNotTaken(t *testing.T) {
	p := newPool(nil, Pool{Slots: 1})
	o, other := offered(p, named("abc")), offered(p, named("x"))
	first := p.next(nil).Workflow
	rest := p.withdraw(o)
	if first != "a" || len(rest) != 2 || rest[0].Workflow != "b" {
		t.Errorf("taken %s, withdrawn %d, want a and the two others", first, len(rest))
	}
	if a := p.next(nil); a.Workflow != "x" {
		t.Errorf("then %s was taken, want x", a.Workflow)
	}
	if rest := p.withdraw(other); len(rest) != 0 {
		t.Errorf("%d withdrawn though all were taken", len(rest))
	}
	p.close()
	if p.next(nil) != nil {
		t.Error("taken from a closed pool")
	}
}

func TestNoAttemptWaitsWhileASlotIsFree(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			p := newPool(nil, Pool{Slots: 1 + r.IntN(8)})
			var length [256]time.Duration // of attempts; many take none
			for i := range length {
				length[i] = time.Duration(max(0, r.IntN(20)-10)) * time.Millisecond
			}
			taken := make(chan *Attempt, 4096)
			for range p.Slots {
				p.slots.Go(func() {
					woken := make(chan struct{}, 1)
					for a := p.next(woken); a != nil; a = p.next(woken) {
						taken <- a
						time.Sleep(length[a.key[0]])
					}
				})
			}
			open := map[*Attempt]bool{}
			for range 60 {
				attempts := make([]*Attempt, 1+r.IntN(20))
				for i := range attempts {
					attempts[i] = &Attempt{key: key{byte(r.Uint32())}}
					open[attempts[i]] = true
				}
				offered(p, attempts)
				time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
				synctest.Wait()
				p.mu.Lock()
				waiting, idle := len(p.offers), len(p.idle)
				p.mu.Unlock()
				if waiting > 0 && idle > 0 {
					t.Fatalf("seed %d: %d offers wait while %d of %d slots are free", seed, waiting, idle, p.Slots)
				}
			}
			p.close()
			p.slots.Wait()
			close(taken)
			for a := range taken {
				if !open[a] {
					t.Fatalf("seed %d: taken twice", seed)
				}
				delete(open, a)
			}
			if len(open) > 0 {
				t.Errorf("seed %d: %d attempts were not taken", seed, len(open))
			}
		})
	}
}

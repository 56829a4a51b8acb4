package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
)

// A program makes known the stores that it links, and opens the one that its settings name.
func ExampleRegister() {
	store.Register("memory", memory.Open) // beside it perhaps postgres.Open, or the Open of an adapter of its own
	s, err := store.Open(context.Background(), "memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	there, err := s.Exists(context.Background(), "orders/1")
	fmt.Println(there, err)
	// Output: false <nil>
}

// The error of an address that cannot be opened does not repeat it, as it may hold a password.
func ExampleOpen() {
	_, err := store.Open(context.Background(), "orracle://scott:tiger@db/runs")
	fmt.Println(err != nil, strings.Contains(err.Error(), "tiger"))
	// Output: true false
}

// A writer appends where it knows the log to end. One that was replaced is fenced.
func Example() {
	ctx := context.Background()
	s := memory.New()
	defer s.Close()
	fmt.Println(s.Append(ctx, "orders/1", 0, 1, [][]byte{[]byte("started"), []byte("paid")}))

	fmt.Println(s.Append(ctx, "orders/1", 2, 2, nil)) // the writer of epoch 2 takes over
	err := s.Append(ctx, "orders/1", 2, 1, [][]byte{[]byte("shipped")})
	var fenced *store.Fenced
	fmt.Println(errors.As(err, &fenced), err)

	err = s.Append(ctx, "orders/1", 1, 2, [][]byte{[]byte("shipped")})
	var conflict *store.Conflict
	fmt.Println(errors.As(err, &conflict), err)
	// Output:
	// <nil>
	// <nil>
	// true fenced in the log "orders/1": epoch 1 writes, and 2 has written
	// true conflict in the log "orders/1": position 1 was expected, and it is 2
}

func ExampleEntries() {
	ctx := context.Background()
	s := memory.New()
	defer s.Close()
	if err := s.Append(ctx, "orders/1", 0, 1, [][]byte{[]byte("started"), []byte("paid")}); err != nil {
		log.Fatal(err)
	}
	for entry, err := range store.Entries(ctx, s, "orders/1", 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(entry))
	}
	// Output:
	// started
	// paid
}

// An adapter holds what it is given to the limits before it does anything.
func ExampleCheckAppend() {
	fmt.Println(store.CheckAppend("", 0, 1, nil))
	// Output: not a valid call of the store: the ID is empty
}

func ExampleCheckID() {
	fmt.Println(store.CheckID("orders/\x00"))
	// Output: not a valid call of the store: the ID has a NUL
}

func ExampleCheckLoad() {
	fmt.Println(store.CheckLoad("orders/1", store.MaxNumber+1))
	// Output: not a valid call of the store: no position is over 9223372036854775807
}

func ExampleCheckSnapshot() {
	fmt.Println(store.CheckSnapshot("orders/1", 1, store.Snapshot{Labels: map[string]string{"tenant": "\xff"}}))
	// Output: not a valid call of the store: the value of the label tenant is no UTF-8
}

func ExampleCheckList() {
	fmt.Println(store.CheckList(store.Filter{Prefix: "orders/"}, ""))
	// Output: 100 <nil>
}

func ExampleCheckDelete() {
	fmt.Println(store.CheckDelete("orders/1", store.MaxNumber))
	// Output: <nil>
}

// An adapter over sorted keys finds what begins with a prefix between two of them.
func ExamplePrefixEnd() {
	fmt.Printf("%q %q %q\n", store.PrefixEnd("orders/"), store.PrefixEnd("a\U0010FFFF"), store.PrefixEnd(""))
	// Output: "orders0" "b" ""
}

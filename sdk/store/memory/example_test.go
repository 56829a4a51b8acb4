package memory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
)

func ExampleNew() {
	ctx := context.Background()
	s := memory.New()
	defer s.Close()
	if err := s.Append(ctx, "orders/1", 0, 1, [][]byte{[]byte("started")}); err != nil {
		log.Fatal(err)
	}
	part, err := s.Load(ctx, "orders/1", 0)
	fmt.Println(part.End, string(part.Entries[0]), err)
	// Output: 1 started <nil>
}

func ExampleOpen() {
	var open store.Opener = memory.Open // what store.Register is given
	s, err := open(context.Background(), "memory:")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Close())
	// Output: <nil>
}

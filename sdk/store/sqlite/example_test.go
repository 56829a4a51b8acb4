package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/sqlite"
)

// What was written is there when the store is opened again.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for epoch := range uint64(2) {
		s, err := sqlite.New(ctx, sqlite.Options{Path: filepath.Join(dir, "runs")})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Append(ctx, "orders/1", epoch, epoch, [][]byte{[]byte("an entry")}))
		if err := s.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// <nil>
	// <nil>
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store.Register("sqlite", sqlite.Open)
	s, err := store.Open(context.Background(), "sqlite:"+filepath.Join(dir, "runs"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Close())
	// Output: <nil>
}

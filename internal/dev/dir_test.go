package dev

import (
	"errors"
	"os"
	"testing"
)

func TestADirectoryHasOneProcess(t *testing.T) {
	dir := t.TempDir()
	first, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDir(dir); !errors.Is(err, ErrInUse) {
		t.Fatalf("a second process got it: %v", err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDir(dir)
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheTokenKeyStaysTheSameAndPrivate(t *testing.T) {
	d, err := openDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	first, err := d.tokenKey()
	if err != nil || len(first) != 2*tokenBytes {
		t.Fatalf("%q, %v", first, err)
	}
	info, err := os.Stat(d.join("token.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v; want 0600", info.Mode(), err)
	}
	if second, err := d.tokenKey(); err != nil || second != first {
		t.Fatalf("then %q, %v; want %q", second, err, first)
	}
	if err := os.WriteFile(d.join("token.key"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.tokenKey(); err == nil {
		t.Fatal("a broken key was taken")
	}
}

func TestATemporaryDirectoryIsRemoved(t *testing.T) {
	d, err := openDir("")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("it is still there: %v", err)
	}
}

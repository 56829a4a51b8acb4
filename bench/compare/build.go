package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build is one binary of heddle.
type build struct {
	name   string
	binary string
	help   map[string]string // of the commands that it was asked for
}

// buildRevision builds a revision out of a worktree of its own, which it removes again.
func buildRevision(ctx context.Context, revision, dir string, log io.Writer) (_ *build, err error) {
	commit, err := output(ctx, "", "git", "rev-parse", "--short", "--verify", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("--base: there is no revision %q: %w", revision, err)
	}
	source := filepath.Join(dir, "source")
	if _, err := output(ctx, "", "git", "worktree", "add", "--detach", source, commit); err != nil {
		return nil, err
	}
	defer func() {
		// The context may have ended, and the worktree goes all the same.
		_, failed := output(context.WithoutCancel(ctx), "", "git", "worktree", "remove", "--force", source)
		if err == nil {
			err = failed
		}
	}()
	return compile(ctx, commit, source, dir, log)
}

// buildTree builds the working tree as it is.
func buildTree(ctx context.Context, dir string, log io.Writer) (*build, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	return compile(ctx, "tree", root, dir, log)
}

func compile(ctx context.Context, name, source, dir string, log io.Writer) (*build, error) {
	fmt.Fprintf(log, "building %s\n", name)
	b := &build{name: name, binary: filepath.Join(dir, "heddle"), help: map[string]string{}}
	_, err := output(ctx, source, "go", "build", "-trimpath", "-buildvcs=false", "-o", b.binary, "./cmd/heddle")
	return b, err
}

// has reports whether a command of this build has a flag: old revisions lack some.
func (b *build) has(ctx context.Context, command, flag string) (bool, error) {
	help, known := b.help[command]
	if !known {
		var err error
		if help, err = output(ctx, "", b.binary, command, "--help"); err != nil {
			return false, err
		}
		b.help[command] = help
	}
	return strings.Contains(help, "--"+flag), nil
}

// output runs a command and returns what it prints, without the spaces around it. Its
// error has what the command said.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), said.String())
	}
	return strings.TrimSpace(out.String()), nil
}

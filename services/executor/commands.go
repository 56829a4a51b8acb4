package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Commands say which programs exec.command may run, and what they see of the executor's environment.
type Commands struct {
	// Allow are absolute paths of programs, without "." and "..". None: the task is handed back to executors
	// that may.
	Allow []string
	// Env are the names of the variables that programs may have: the executor's own, where it has them, and
	// what a step gives them under these names. All others are neither inherited nor given.
	Env []string
	// MaxOutput are the bytes of a program's standard output; 1 MiB.
	MaxOutput int64
}

const defaultMaxOutput = 1 << 20

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check refuses what is no rule, and programs that are not there: a step would find out only later.
func (c *Commands) check() error {
	if c.MaxOutput == 0 {
		c.MaxOutput = defaultMaxOutput
	}
	for _, path := range c.Allow {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return fmt.Errorf("executor: the program %q is not allowed by its whole path, as %q would be", path, "/usr/bin/jq")
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("executor: exec.command is allowed to run a program that cannot be found: %w", err)
		}
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return fmt.Errorf("executor: exec.command is allowed to run %s, which is no program", path)
		}
	}
	for _, name := range c.Env {
		if !variableName.MatchString(name) {
			return fmt.Errorf("executor: %q, which programs may have, is no name of a variable", name)
		}
	}
	return nil
}

// environment is that of a program: what it may inherit, and what the step gives it. Names that it may not have are
// refused.
func (c *Commands) environment(given map[string]string) (map[string]string, error) {
	env := map[string]string{}
	for _, name := range c.Env {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	for name, value := range given {
		if !slices.Contains(c.Env, name) {
			return nil, refuse(errorCommandForbidden, "the variable %q is not in the executor's list of those that programs may have (--command-env)", name)
		}
		env[name] = value
	}
	return env, nil
}

// Package tmux speaks with the panes of tmux servers: what there is, what they show, and typing into them.
//
// It runs the program tmux with arguments. No shell reads them, no target is left to tmux's patterns, and
// no server is started.
package tmux

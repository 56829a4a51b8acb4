// Package executor is the service that runs attempts for everybody who has no
// worker of their own: the built-in tasks of the queue "default", and queues
// that a setting binds to an HTTP service.
//
// Taking, slots, liveness, cancellation, offsets and drain are package worker's;
// here is what runs:
//
//	http.request    httprequest.go    a request to any host that the rules allow
//	kafka.produce   kafkaproduce.go   a record to a topic that the settings allow
//	terminal.submit terminal.go       work for a program in a pane of tmux, where the settings allow
//	exec.command    execcommand.go    a program of this machine that the settings allow
//	test.*          testtasks.go      in dev only
//	HTTP services   httpservice.go    POST of a task's value to a URL
//
// The executor holds no durable state.
package executor

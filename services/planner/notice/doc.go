// Package notice is the machine of entities notice:RUN:WORKFLOW. One calls the HTTP receiver
// that a run of a workflow has named under on_complete, once for each time that the workflow
// has drained: in order, again until the receiver has taken it, and beside the workflow,
// which a receiver that fails or hangs can not hold up.
package notice

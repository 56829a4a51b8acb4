package gateway

import (
	"net/http"
	"strings"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/shared/events"
)

// route is one line of the table that everything about a route is made from.
type route struct {
	method, path string
	name         string // operationId
	about        string
	role         access.Role
	query        []param
	body         any      // a value of the request's type; nil: none
	required     []string // fields of the body
	answers      []answer // besides problems
	tunnel       bool     // any path behind it and any query are the attempt's affair
	handle       func(g *Gateway, w http.ResponseWriter, r *http.Request) error
}

// param is a query parameter.
type param struct {
	name  string // label.* stands for all that begin with label.
	about string
}

// answer is what a route answers with when it does not refuse.
type answer struct {
	status int
	about  string
	shape  any    // a value of the answer's type; nil: no content or not JSON
	mime   string // empty: application/json
}

var (
	waitParam   = param{"wait", "accepted: until the planner has decided; a duration, as 30s: until the workflow is idle, failed, stopped or closed"}
	cursorParam = param{"cursor", "next_cursor of the page before"}
	limitParam  = param{"limit", "items on the page, at most 1000"}
	formatParam = param{"format", "mermaid or json; otherwise the Accept header decides"}
)

// routes is the table.
func routes() []route {
	all := append(definitionRoutes(), workflowRoutes()...)
	all = append(all, controlRoutes()...)
	all = append(all, readRoutes()...)
	all = append(all, keyRoutes()...)
	all = append(all, poolRoutes()...)
	all = append(all, archiveRoutes()...)
	all = append(all, taskRoutes()...)
	all = append(all, tunnelRoutes()...)
	all = append(all, partitionRoutes()...)
	return append(all, serviceRoutes()...)
}

func definitionRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/definitions", name: "listDefinitions", role: Read,
			about: "The names under which definitions are registered, each with what it means now, how many versions there are, and how many open workflows use them.",
			query: []param{cursorParam, limitParam}, answers: []answer{{200, "one page, by name", List[NamedDefinition]{}, ""}}, handle: (*Gateway).listDefinitions},
		{method: "PUT", path: "/v1/definitions/{name}", name: "putDefinition", role: Write,
			about: "Registers a definition, JSON or YAML.", body: anyDocument{},
			answers: []answer{{200, "registered; it can be started", Definition{}, ""}}, handle: (*Gateway).putDefinition},
		{method: "GET", path: "/v1/definitions/{name}", name: "getDefinition", role: Read,
			about:   "A registered definition: name is a name, name@version or digest.",
			answers: []answer{{200, "the definition", Definition{}, ""}}, handle: (*Gateway).getDefinition},
		{method: "GET", path: "/v1/definitions/{name}/versions", name: "listVersions", role: Read,
			about:   "All definitions that were registered under a name, newest first.",
			answers: []answer{{200, "the versions", List[Version]{}, ""}}, handle: (*Gateway).listVersions},
		{method: "GET", path: "/v1/definitions/{name}/graph", name: "getDefinitionGraph", role: Read,
			about: "The declared graph.", query: []param{formatParam},
			answers: graphAnswers, handle: (*Gateway).definitionGraph},
	}
}

var graphAnswers = []answer{{200, "the graph as JSON", Graph{}, ""}, {200, "the graph as Mermaid", nil, mermaidType}}

func workflowRoutes() []route {
	started := []answer{
		{201, "wait=accepted: the planner has started it", Started{}, ""},
		{200, "wait=DURATION: it has drained; with its results", Started{}, ""},
		{202, "the command is in Kafka, or the wait was over first: where to look", Accepted{}, ""},
	}
	fed := []answer{{200, "decided, or drained, as wait says", Started{}, ""}, started[2]}
	return []route{
		{method: "POST", path: "/v1/workflows", name: "startWorkflow", role: Write,
			about: "Starts a workflow under an id of the server's: the Idempotency-Key's own, else a new one.",
			query: []param{waitParam}, body: events.StartWorkflow{}, required: []string{"definition"}, answers: started, handle: (*Gateway).postWorkflow},
		{method: "PUT", path: "/v1/workflows/{id}", name: "startWorkflowAs", role: Write,
			about: "Starts a workflow under a given id.",
			query: []param{waitParam}, body: events.StartWorkflow{}, required: []string{"definition"}, answers: started, handle: (*Gateway).putWorkflow},
		{method: "POST", path: "/v1/workflows/{id}/inputs", name: "feedWorkflow", role: Write,
			about: "Feeds a workflow an input.",
			query: []param{waitParam}, body: events.FeedInput{}, required: []string{"input"}, answers: fed, handle: (*Gateway).postInput},
		{method: "DELETE", path: "/v1/workflows/{id}", name: "deleteWorkflow", role: Operate,
			about: "Removes a closed workflow for good; force cancels an open one first. It needs the role operate.",
			query: []param{{"force", "true: cancel first"}, {"by", "who asks"}, {"why", "and why"}}, body: events.DeleteWorkflow{},
			answers: controlAnswers, handle: (*Gateway).deleteWorkflow},
	}
}

var controlAnswers = []answer{
	{200, "the planner has decided", Controlled{}, ""},
	{202, "the command is in Kafka and the planner has not answered in time: where to look", Accepted{}, ""},
}

// control is the route of a control command: one line for each.
func control[Body any](name, about string, required ...string) route {
	var none Body
	return route{
		method: "POST", path: "/v1/workflows/{id}/" + name, name: name + "Workflow", about: about, role: Write,
		body: none, required: required, answers: controlAnswers,
		handle: func(g *Gateway, w http.ResponseWriter, r *http.Request) error {
			return g.control(w, r, name, new(Body))
		},
	}
}

func controlRoutes() []route {
	setPolicies := control[events.SetPolicies]("set_policies", "Replaces the policies that were given with the workflow; what exists keeps the policy that it was made with.", "policies")
	setPolicies.method, setPolicies.path, setPolicies.name = "PUT", "/v1/workflows/{id}/policies", "setPolicies"
	migrate := control[events.MigrateWorkflow]("migrate", "Lets a workflow at rest go on with another definition, if all that is open or remembered has its place there.", "definition")
	migrate.handle = (*Gateway).migrate
	return []route{
		control[events.PauseWorkflow]("pause", "Admits no new attempt; active ones finish and count."),
		control[events.ResumeWorkflow]("resume", "Admits again after pause or stop."),
		control[events.StopWorkflow]("stop", "Drains and stops; resume goes on."),
		control[events.CancelWorkflow]("cancel", "Ends the run; open attempts are told."),
		control[events.RetryRunnables]("retry", "Makes failed runnables ready again: all, named ones, or those of a component."),
		control[events.SkipRunnable]("skip", "Gives up a runnable; what depends on it is suppressed.", "runnable"),
		setPolicies, migrate,
		control[events.CheckpointWorkflow]("checkpoint", "Makes the workflow's changes due for the changelog now."),
		{method: "POST", path: "/v1/workflows/{id}/signals/{name}", name: "signalWorkflow", role: Write,
			about: "Gives a component that waits for a signal of this name the value `input`. While nobody waits for it, it is kept.",
			body:  signalBody{}, answers: controlAnswers, handle: (*Gateway).signal},
	}
}

// partitionRoutes are of operators.
func partitionRoutes() []route {
	return []route{
		operate[events.AcceptLoss]("accept_loss", "acceptLoss", "Lets a blocked partition go on without records of an input log that are gone unread: exactly those that its readiness names. Workflows that they may concern are paused.",
			"log", "from", "to"),
		operate[events.ReleasePartition]("force_release", "releasePartition", "Takes the lease from its owner, whatever that one says: it stops, and whoever is assigned the partition takes over. An owner that is dead already is not waited for any longer."),
		operate[events.MarkPartitionStale]("mark_stale", "markPartitionStale", "Says that the lease is not to be trusted: the partition is not ready until its owner renews the lease, or another one takes over."),
		operate[events.ReplayPartition]("request_replay", "replayPartition", "Has an input log read again from `cursor`, commands@OFFSET or inbox@OFFSET: what is decided already is not decided again. Without a cursor the request is cleared."),
		operate[events.RemoveDispatch]("remove_dispatch", "removeDispatches", "Removes dispatch records that have ended, by their request ids: all of them, or none if one is unknown or still open. The ids stay used.",
			"ids"),
		dispatchesRoute(),
		operate[events.CheckpointWorkflow]("checkpoint", "checkpointPartition", "Makes all changed rows of the partition due for the changelog now."),
	}
}

// operate is the route of a command of operators, whose body is a T.
func operate[T any, P interface {
	*T
	given
}](command, name, about string, required ...string) route {
	var body T
	return route{
		method: "POST", path: "/v1/partitions/{partition}/" + strings.ReplaceAll(command, "_", "-"), name: name, role: Operate, about: about,
		body: body, required: append(required, "by", "why"), answers: controlAnswers,
		handle: func(g *Gateway, w http.ResponseWriter, r *http.Request) error {
			return g.operate(w, r, command, P(new(T)))
		},
	}
}

func readRoutes() []route {
	read := func(path, name, about string, shape any, query []param, handle func(*Gateway, http.ResponseWriter, *http.Request) error) route {
		return route{method: "GET", path: "/v1/workflows/{id}" + path, name: name, about: about, role: Read, query: query,
			answers: []answer{{200, "as of now", shape, ""}}, handle: handle}
	}
	pages := []param{cursorParam, limitParam}
	graph := read("/graph", "getGraph", "The graph with the status of each component.", nil, []param{formatParam}, (*Gateway).workflowGraph)
	graph.answers = graphAnswers
	stream := read("/events", "followWorkflow", "Server-sent events: the history so far, then live; goes on after Last-Event-ID. It ends when the workflow is closed, and is empty (204) behind its last event.", nil, nil, (*Gateway).streamEvents)
	stream.answers = []answer{{200, "events; the data of each is an item of the history", nil, "text/event-stream"}, {204, "the workflow is closed, and nothing is behind Last-Event-ID", nil, "text/event-stream"}}
	return []route{
		{method: "GET", path: "/v1/workflows", name: "listWorkflows", role: Read, about: "Finds workflows, newest first: those that fit all that is given. One request looks at 20,000 at most, and then says so (looked_at); the cursor goes on behind them.",
			query:   append(filterParams(), cursorParam, limitParam, archivedParam),
			answers: []answer{{200, "one page", List[Workflow]{}, ""}}, handle: (*Gateway).listWorkflows},
		read("", "getWorkflow", "The summary of a workflow.", Workflow{}, []param{{"wait", "a duration: answer when it has drained, at the latest then"}}, (*Gateway).getWorkflow),
		read("/lookup", "lookupWorkflow", "Where a workflow lives: the partition of its ID, who owns that, and whether it is ready. No planner is asked, so it is told while all are gone, and of an ID that no workflow has.", Place{}, nil, (*Gateway).lookupWorkflow),
		read("/results", "getResults", "The latest value of each output; with all=true every one.", Results{}, []param{{"all", "true: lists, in order of production"}}, (*Gateway).getResults),
		read("/productions", "getProductions", "All values of each component, in order of production.", Productions{}, nil, reading("productions")),
		read("/facts", "listFacts", "Facts with their parents.", List[Fact]{}, pages, listing("facts")),
		read("/runnables", "listRunnables", "Runnables with their attempts. One request looks at 20,000 at most, and then says so (looked_at); the cursor goes on behind them.", List[Runnable]{}, append([]param{{"status", "only of this status"}, {"component", "only of this component"}}, pages...), (*Gateway).listRunnables),
		read("/explain", "explainWorkflow", "Why the workflow is where it is: what holds it as a whole, and what each runnable waits for that is open or has failed.", Explanation[Runnable]{}, append([]param{{"status", "only of this status"}, {"component", "only of this component"}}, pages...), (*Gateway).explainWorkflow),
		read("/history", "getHistory", "The events, oldest first.", List[HistoryItem]{}, pages, (*Gateway).getHistory),
		graph, stream,
	}
}

func taskRoutes() []route {
	task := func(name, about string, body any, required ...string) route {
		return route{
			method: "POST", path: "/v1/tasks/{token}/" + name, name: name + "Task", about: about, role: Write,
			body: body, required: required, answers: controlAnswers,
			handle: func(g *Gateway, w http.ResponseWriter, r *http.Request) error { return g.task(w, r, name) },
		}
	}
	return []route{
		task("complete", "Gives the result of an attempt.", completeBody{}, "result"),
		task("fail", "Fails an attempt.", failBody{}, "error"),
		task("heartbeat", "Says that somebody still works on an attempt.", heartbeatBody{}),
	}
}

func serviceRoutes() []route {
	plain := func(path, name, about string, status int, mime string, h func(*Gateway) http.HandlerFunc) route {
		return route{method: "GET", path: path, name: name, about: about, answers: []answer{{status, about, nil, mime}},
			handle: func(g *Gateway, w http.ResponseWriter, r *http.Request) error { h(g)(w, r); return nil }}
	}
	return []route{
		{method: "GET", path: "/", name: "home", about: "A page for people: what this is, the partitions' state, and where to read on.",
			answers: []answer{{200, "the page", nil, "text/html"}}, handle: (*Gateway).getHome},
		{method: "GET", path: "/v1/queues", name: "listQueues", role: Read, about: "The task queues with open attempts: how many wait for a worker, since when the oldest does, and how many run. Partitions publish them about once a second, each of at most 64 queues: those first whose oldest pending attempt waits longest.",
			answers: []answer{{200, "all of them", List[Queue]{}, ""}}, handle: (*Gateway).listQueues},
		{method: "GET", path: "/v1/readiness", name: "getReadiness", role: Read, about: "The readiness of all partitions.",
			answers: []answer{{200, "ready or not", DeploymentReadiness{}, ""}}, handle: (*Gateway).getReadiness},
		{method: "GET", path: "/v1/readiness/events", name: "followReadiness", role: Read, about: "Server-sent events: the readiness of all partitions as it is, and again whenever it changes.",
			answers: []answer{{200, "events; the data of each is what /v1/readiness answers", nil, "text/event-stream"}}, handle: (*Gateway).followReadiness},
		{method: "GET", path: "/v1/readiness/{partition}", name: "getPartitionReadiness", role: Read, about: "The readiness of one partition.",
			answers: []answer{{200, "ready or not", PartitionReadiness{}, ""}}, handle: (*Gateway).getPartitionReadiness},
		plain("/livez", "live", "The gateway's own loop turns.", 200, "application/json", func(g *Gateway) http.HandlerFunc { return g.health.ServeLive }),
		plain("/readyz", "ready", "What the gateway depends on is there.", 200, "application/json", func(g *Gateway) http.HandlerFunc { return g.health.ServeReady }),
		plain("/metrics", "metrics", "Prometheus.", 200, "text/plain", func(g *Gateway) http.HandlerFunc { return service.Metrics(g.cfg.Registry).ServeHTTP }),
		{method: "GET", path: "/openapi.json", name: "openapi", about: "This document.",
			answers: []answer{{200, "OpenAPI 3.1", anyObject{}, ""}}, handle: (*Gateway).getOpenAPI},
		{method: "GET", path: "/schemas/definition.json", name: "definitionSchema", about: "The JSON Schema of definitions, for editors.",
			answers: []answer{{200, "JSON Schema, draft 2020-12", anyObject{}, ""}}, handle: (*Gateway).getDefinitionSchema},
		plain("/schemas/heddle.proto", "records", "The records in Protocol Buffers, for readers in other languages.", 200, "text/plain",
			func(*Gateway) http.HandlerFunc { return serveProto }),
	}
}

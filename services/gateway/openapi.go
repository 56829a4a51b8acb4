package gateway

import (
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// getOpenAPI answers with the document that is made from the table of routes.
func (g *Gateway) getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, r, http.StatusOK, OpenAPI())
}

// getDefinitionSchema answers with the schema that definitions are held against.
func (g *Gateway) getDefinitionSchema(w http.ResponseWriter, r *http.Request) error {
	writeBytes(w, r, http.StatusOK, "application/json", definition.Schema())
	return nil
}

// serveProto answers with the description of the records.
func serveProto(w http.ResponseWriter, r *http.Request) {
	writeBytes(w, r, http.StatusOK, "text/plain; charset=utf-8", []byte(events.Schema()))
}

type node = map[string]any

// OpenAPI is the description of all routes, OpenAPI 3.1.
func OpenAPI() map[string]any {
	s := schemas{named: node{}, types: map[string]reflect.Type{}}
	problem := s.ref(Problem{})
	paths := node{}
	for _, rt := range routes() {
		item, ok := paths[rt.path].(node)
		if !ok {
			item = node{}
			paths[rt.path] = item
		}
		item[lowerMethod[rt.method]] = s.operation(rt, problem)
	}
	return node{
		"openapi": "3.1.0",
		"info": node{
			"title": "Heddle", "version": "1",
			"description": "Durable workflows on Kafka. Errors are RFC 9457 problems; their type is " + ProblemPrefix + "CODE.",
		},
		"paths": paths,
		"components": node{
			"schemas":         s.named,
			"securitySchemes": node{"key": node{"type": "http", "scheme": "bearer"}},
		},
	}
}

var lowerMethod = map[string]string{"GET": "get", "PUT": "put", "POST": "post", "PATCH": "patch", "DELETE": "delete"}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func (s *schemas) operation(rt route, problem node) node {
	responses := node{"default": node{"description": "a problem", "content": node{"application/problem+json": node{"schema": problem}}}}
	for _, a := range rt.answers {
		s.response(responses, a)
	}
	if rt.method == "GET" && rt.answers[0].mime == "" {
		responses["304"] = node{"description": "the ETag of If-None-Match is still right"}
	}
	op := node{"operationId": rt.name, "summary": rt.about, "parameters": parameters(rt), "responses": responses}
	if rt.role != access.Anybody {
		op["security"] = []any{node{"key": []any{}}, node{}}
		op["description"] = "Needs the role " + rt.role.String() + " where keys are configured."
	}
	if rt.body != nil {
		op["requestBody"] = s.requestBody(rt)
	}
	return op
}

func (s *schemas) response(responses node, a answer) {
	status := strconv.Itoa(a.status)
	r, ok := responses[status].(node)
	if !ok {
		r = node{"description": a.about, "content": node{}}
		responses[status] = r
	}
	schema := node{}
	if a.shape != nil {
		schema = s.ref(a.shape)
	} else if a.mime != "application/json" {
		schema = node{"type": "string"}
	}
	r["content"].(node)[or(a.mime, "application/json")] = node{"schema": schema}
}

func (s *schemas) requestBody(rt route) node {
	if _, ok := rt.body.(anyDocument); ok {
		return node{"required": true, "content": node{
			"application/json": node{"schema": node{"type": "object"}}, "application/yaml": node{"schema": node{"type": "string"}},
		}}
	}
	schema := s.request(rt.body, rt.required)
	return node{"required": len(rt.required) > 0, "content": node{"application/json": node{"schema": schema}}}
}

func parameters(rt route) []any {
	list := []any{}
	for _, m := range pathParam.FindAllStringSubmatch(rt.path, -1) {
		list = append(list, node{"name": m[1], "in": "path", "required": true, "schema": node{"type": "string"}})
	}
	for _, p := range rt.query {
		list = append(list, node{"name": p.name, "in": "query", "description": p.about, "schema": node{"type": "string"}})
	}
	if rt.body != nil && rt.name != "putDefinition" {
		list = append(list, node{
			"name": "Idempotency-Key", "in": "header", "schema": node{"type": "string", "maxLength": maxKey},
			"description": "becomes the command's id: repetitions are one, and get the first answer",
		})
	}
	return list
}

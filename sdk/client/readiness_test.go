package client

import (
	"reflect"
	"strings"
	"testing"
)

// A program outside can name the type of each part of a Readiness.
func TestEachPartOfAReadinessHasAName(t *testing.T) {
	named := map[reflect.Type]bool{}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Readiness](), reflect.TypeFor[Partition](), reflect.TypeFor[Snapshot](), reflect.TypeFor[PartitionReadiness](),
		reflect.TypeFor[Authority](), reflect.TypeFor[Backlog](), reflect.TypeFor[QueueBacklog](), reflect.TypeFor[PoolBacklog](), reflect.TypeFor[Replay](),
		reflect.TypeFor[PartitionCheckpoint](), reflect.TypeFor[Durability](), reflect.TypeFor[Replicated](),
	} {
		named[typ] = true
	}
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(typ.Elem())
		case reflect.Map:
			walk(typ.Key())
			walk(typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(typ.Field(i).Type)
			}
		}
		if strings.Contains(typ.PkgPath(), "/internal/") && !named[typ] {
			t.Errorf("%v is of an internal package and has no name here", typ)
		}
	}
	walk(reflect.TypeFor[Readiness]())
	if len(seen) < len(named) {
		t.Errorf("only %d types are reached", len(seen))
	}
}

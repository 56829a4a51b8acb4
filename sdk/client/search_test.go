package client_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/sdk/client"
)

func ExampleParseFilter() {
	f, err := client.ParseFilter(`status=failed error=timeout label.customer=acme q="card declined"`)
	fmt.Println(f.Status, f.Error, f.Labels["customer"], f.Text, err)
	_, err = client.ParseFilter("status=faild")
	fmt.Println(err)
	// Output:
	// failed timeout acme card declined <nil>
	// invalid_parameter at status: "faild" is none of running, idle, paused, failed, stopping, stopped, completed, cancelling, cancelled (did you mean failed?)
}

func ExampleFilter_String() {
	fmt.Println(client.Filter{Status: client.StatusFailed, Component: "charge", Text: "card declined"})
	// Output: status=failed component=charge q="card declined"
}

func FuzzParseFilter(f *testing.F) {
	f.Add(`status=failed label."a b"=1 q="x \" y" created_after=2h`)
	f.Fuzz(func(t *testing.T, where string) {
		got, err := client.ParseFilter(where)
		if err != nil {
			if _, ok := errors.AsType[*client.Error](err); !ok {
				t.Fatalf("%q: an error of another kind: %v", where, err)
			}
			return
		}
		again, err := client.ParseFilter(got.String())
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%q is printed as %q, which is %+v, %v", where, got, again, err)
		}
	})
}

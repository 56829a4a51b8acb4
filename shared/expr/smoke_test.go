package expr

import "testing"

func TestSmoke(t *testing.T) {
	for src, want := range map[string]string{
		`input.a + 1`: `6`, `{"b": 1, "a": input.a}`: `{"a":5,"b":1}`, `input?.x ?? 3`: `3`, `map(input.l, # * 2)`: `[2,4]`,
		`now().Year()`: `1`, `input.l | filter(# > 1)`: `[2]`, `sort([3,1,2], "desc")`: `[3,2,1]`,
	} {
		p, err := Compile(src)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := p.Eval(Env{Input: []byte(`{"a":5,"l":[1,2]}`)})
		if err != nil || string(got) != want {
			t.Errorf("%s = %s, %v", src, got, err)
		}
	}
	p, _ := Compile("1 + input.x.y")
	_, err := p.Eval(Env{Input: []byte(`{"a":5,"l":[1,2]}`)})
	t.Log(err)
}

// Package scan reads JSON that is written the way our own encoders write it: in
// one pass, without reflection, aliasing the input. It never decides that a text
// is wrong: what is unusual (white space, escapes, deep nesting, other fields, or
// no JSON at all) is strange, and the caller gives it to encoding/json, which
// knows the answer or the error. What is not strange means the same to both.
package scan

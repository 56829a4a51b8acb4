package definition

import (
	"bytes"
	"fmt"

	"github.com/heddle-run/heddle/shared/jsonplace"
)

// notUTF8 refuses a text with bytes that are no UTF-8, at its line and, in JSON, at
// its path: read on they would become other letters, under a digest of their own.
func notUTF8(src []byte) Errors {
	at, path := jsonplace.NotUTF8(src)
	if at < 0 {
		return nil
	}
	if text := bytes.TrimSpace(src); len(text) == 0 || text[0] != '{' {
		path = "" // YAML has no such path
	}
	line := 1 + bytes.Count(src[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(src[:at], '\n')
	return Errors{{
		Path: path, Message: fmt.Sprintf("line %d, byte %d of it: 0x%02x is no UTF-8", line, column, src[at]), Fix: "write the definition in UTF-8",
	}}
}

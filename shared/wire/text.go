package wire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Text shows the bytes of a message of whatever type, for people: its fields by
// their numbers. Bytes that may be text or a message are shown as text if all of
// it can be printed, else as the message. Bytes of no message are hex. What is
// long is cut.
func Text(b []byte) string {
	if s, ok := fieldsText(b); ok {
		return "{" + s + "}"
	}
	return cut(b, "%x")
}

// longest are the bytes of one value that are shown.
const longest = 240

func cut(b []byte, format string) string {
	if len(b) <= longest {
		return fmt.Sprintf(format, b)
	}
	return fmt.Sprintf(format+"… (%d bytes)", b[:longest], len(b))
}

func fieldsText(b []byte) (string, bool) {
	var fields []string
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", false
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return "", false
		}
		fields = append(fields, strconv.Itoa(int(num))+": "+valueText(typ, b[n:n+size]))
		b = b[n+size:]
	}
	return strings.Join(fields, ", "), true
}

// valueText shows one value, which is whole.
func valueText(typ protowire.Type, b []byte) string {
	switch typ {
	case protowire.VarintType:
		v, _ := protowire.ConsumeVarint(b)
		return strconv.FormatUint(v, 10)
	case protowire.BytesType:
		v, _ := protowire.ConsumeBytes(b)
		if printable(v) {
			return cut(v, "%q")
		}
		return Text(v)
	default:
		return fmt.Sprintf("%x", b)
	}
}

func printable(b []byte) bool {
	for s := string(b); len(s) > 0; {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' {
			return false
		}
		s = s[n:]
	}
	return true
}

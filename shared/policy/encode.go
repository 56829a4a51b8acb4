package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Tags of the recorded fields. Never reuse one.
const (
	tagMaxRetries = iota + 1
	tagMaxLost
	tagBaseDelay
	tagMaxDelay
	tagTimeout
	tagStartTimeout
	tagBackoff
	tagOnFailure
	tagOnLost
	tagMode
	tagQueue
	tagPriority
)

// Append adds the recorded form of p to b: a tag and a varint for each field that differs from Default, by tag. The
// default policy takes no bytes. Equal policies give equal bytes.
func (p Policy) Append(b []byte) []byte {
	d := Default()
	was := d.numbers()
	for i, v := range p.numbers() {
		if v != was[i] {
			b = binary.AppendUvarint(append(b, byte(i+1)), v)
		}
	}
	if p.Queue != "" {
		b = binary.AppendUvarint(append(b, tagQueue), uint64(len(p.Queue)))
		b = append(b, p.Queue...)
	}
	if p.Priority != Normal {
		b = append(b, tagPriority, byte(p.Priority))
	}
	return b
}

// numbers are the recorded numbers, at index tag−1.
func (p *Policy) numbers() [tagQueue - 1]uint64 {
	return [...]uint64{
		tagMaxRetries - 1:   uint64(p.MaxRetries),
		tagMaxLost - 1:      uint64(p.MaxLost),
		tagBaseDelay - 1:    uint64(p.BaseDelay),
		tagMaxDelay - 1:     uint64(p.MaxDelay),
		tagTimeout - 1:      uint64(p.Timeout),
		tagStartTimeout - 1: uint64(p.StartTimeout),
		tagBackoff - 1:      uint64(p.Backoff),
		tagOnFailure - 1:    uint64(p.OnFailure),
		tagOnLost - 1:       uint64(p.OnLost),
		tagMode - 1:         uint64(p.Mode),
	}
}

var errRecorded = errors.New("recorded policy is damaged")

// Parse reads what Append wrote, to the end of b. An unknown field is an error, not skipped: it would be ignored.
func Parse(b []byte) (Policy, error) {
	p := Default()
	for len(b) > 0 {
		tag := b[0]
		v, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return Policy{}, errRecorded
		}
		b = b[1+n:]
		if tag == tagQueue {
			if v > uint64(len(b)) {
				return Policy{}, errRecorded
			}
			p.Queue, b = string(b[:v]), b[v:]
			continue
		}
		if err := p.setNumber(tag, v); err != nil {
			return Policy{}, err
		}
	}
	return p, nil
}

func (p *Policy) setNumber(tag byte, v uint64) error {
	if v > 1<<63-1 {
		return errRecorded
	}
	switch tag {
	case tagMaxRetries:
		p.MaxRetries = int(v)
	case tagMaxLost:
		p.MaxLost = int(v)
	case tagBaseDelay:
		p.BaseDelay = time.Duration(v)
	case tagMaxDelay:
		p.MaxDelay = time.Duration(v)
	case tagTimeout:
		p.Timeout = time.Duration(v)
	case tagStartTimeout:
		p.StartTimeout = time.Duration(v)
	default:
		return p.setChoice(tag, v)
	}
	return nil
}

func (p *Policy) setChoice(tag byte, v uint64) error {
	most := map[byte]uint64{tagBackoff: uint64(Jitter), tagOnFailure: uint64(Skip), tagOnLost: uint64(FailLost), tagMode: uint64(Sync), tagPriority: uint64(Critical)}
	limit, known := most[tag]
	if !known || v > limit {
		return fmt.Errorf("%w: field %d has value %d", errRecorded, tag, v)
	}
	switch tag {
	case tagBackoff:
		p.Backoff = Backoff(v)
	case tagOnFailure:
		p.OnFailure = OnFailure(v)
	case tagOnLost:
		p.OnLost = OnLost(v)
	case tagMode:
		p.Mode = Mode(v)
	case tagPriority:
		p.Priority = Priority(v)
	}
	return nil
}

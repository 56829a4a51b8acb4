package broker

// ErrOpenTransaction is why a compaction is put off.
var ErrOpenTransaction = errOpenTransaction

// KeepSegments leaves a directory as a crash at the start of a compaction does.
func KeepSegments(dir string, topics ...string) error {
	_, err := keepSegments(dir, topics)
	return err
}

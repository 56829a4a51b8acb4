package store

// Metrics are figures of one store for Prometheus. Bytes unless the name says
// otherwise.
type Metrics struct {
	Disk       int64 // of all files
	MemTables  int64
	BlockCache int64 // of the cache that all stores of the process share
	Tables     int64 // how many
	ReadAmp    int   // tables that a lookup may have to ask
	Debt       int64 // estimated bytes to compact

	Flushed, Compacted, Ingested int64 // written so far
	Compactions                  int64 // how many so far
	BlockHits, BlockMisses       int64 // of the shared cache, so far
}

// Metrics are the figures as of now. It takes the database's locks: call it
// when metrics are collected, not more often.
func (s *Store) Metrics() Metrics {
	m := s.db.Metrics()
	total := m.Total()
	return Metrics{
		Disk:        int64(m.DiskSpaceUsage()),
		MemTables:   int64(m.MemTable.Size),
		BlockCache:  m.BlockCache.Size,
		Tables:      total.TablesCount,
		ReadAmp:     m.ReadAmp(),
		Debt:        int64(m.Compact.EstimatedDebt),
		Flushed:     int64(total.TableBytesFlushed),
		Compacted:   int64(total.TableBytesCompacted),
		Ingested:    int64(total.TableBytesIngested),
		Compactions: m.Compact.Count,
		BlockHits:   m.BlockCache.Hits,
		BlockMisses: m.BlockCache.Misses,
	}
}

// DiskBytes is the size of the store's files.
func (s *Store) DiskBytes() int64 { return int64(s.db.Metrics().DiskSpaceUsage()) }

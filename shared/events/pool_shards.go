package events

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// MaxShards is how many shards a pool may have.
const MaxShards = 32

// PoolOf is the id of the entity that is a pool, or a shard of one, as images/3.
func PoolOf(name string) string { return PoolPrefix + name }

// ParsePoolID is the inverse of PoolOf.
func ParsePoolID(id string) (name string, err error) {
	name, ok := strings.CutPrefix(id, PoolPrefix)
	if !ok || CheckShardName(name) != nil {
		return "", fmt.Errorf("%q is not of the form %s, or %s", id, PoolOf("NAME"), PoolOf("NAME/SHARD"))
	}
	return name, nil
}

// CheckShardName refuses what names neither a pool nor a shard of one.
func CheckShardName(name string) error {
	pool, shard := SplitShard(name)
	if err := CheckPoolName(pool); err != nil {
		return err
	}
	if pool == name {
		return nil
	}
	if shard < 1 || shard > MaxShards || ShardName(pool, shard) != name {
		return fmt.Errorf("shard %q of a pool: want a number from 1 to %d behind the slash", name, MaxShards)
	}
	return nil
}

// SplitShard is the name of a pool, and the number of the shard of it that is named; 0: none is, or it has no number.
func SplitShard(name string) (pool string, shard int) {
	pool, digits, _ := strings.Cut(name, "/")
	shard, err := strconv.Atoi(digits)
	if err != nil {
		return pool, 0
	}
	return pool, shard
}

// ShardName is the name of a shard of a pool, from 1 on; 0: of the pool itself, which is all that there is where it has one shard.
func ShardName(pool string, shard int) string {
	if shard == 0 {
		return pool
	}
	return pool + "/" + strconv.Itoa(shard)
}

// ShardFor is the name of the shard of a pool to which something belongs, by a text that names it.
func ShardFor(pool string, shards int, of string) string {
	if shards <= 1 {
		return pool
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(of)) // it never fails
	sum := h.Sum64()
	return ShardName(pool, 1+int((sum^sum>>32)%uint64(shards)))
}

// Shards are the names of the shards of a pool: its own, where it has one.
func Shards(pool string, shards int) (all []string) {
	if shards <= 1 {
		return []string{pool}
	}
	for n := range shards {
		all = append(all, ShardName(pool, n+1))
	}
	return all
}

// IsShard reports whether a name is that of a shard of a pool that has so many.
func IsShard(name, pool string, shards int) bool {
	of, shard := SplitShard(name)
	if shards <= 1 {
		return name == pool
	}
	return of == pool && shard >= 1 && shard <= shards
}

// ShardOfRunner is the name of the shard that gave a runner its id; empty: none of the pool has.
func ShardOfRunner(pool, id string) string {
	name := id
	for range 2 { // a position has a dot
		name = name[:max(0, strings.LastIndexByte(name, '.'))]
	}
	if of, _ := SplitShard(name); of != pool || CheckShardName(name) != nil {
		return ""
	}
	return name
}

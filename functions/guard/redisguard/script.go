package redisguard

import "github.com/redis/go-redis/v9"

// A record is a hash: v the version, r the record, s and us the server's time of the last write. ARGV of both writes:
// the new version, the record, the time to live in ms, the old version. A key that has the new version already was
// written by this very call, sent twice: the answer is that of the first.
const (
	luaWrite = `
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'v', ARGV[1], 'r', ARGV[2], 's', t[1], 'us', t[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`
	luaCreate = `
local v = redis.call('HGET', KEYS[1], 'v')
if v == ARGV[1] then return 1 end
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
` + luaWrite
	luaUpdate = `
local v = redis.call('HGET', KEYS[1], 'v')
if v == ARGV[1] then return 1 end
if v ~= ARGV[4] then return 0 end
` + luaWrite
	luaGet = `
local h = redis.call('HMGET', KEYS[1], 'v', 'r', 's', 'us')
if not h[1] then return false end
local t = redis.call('TIME')
return {h[1], h[2], h[3], h[4], t[1], t[2]}
`
)

var (
	createScript = redis.NewScript(luaCreate)
	updateScript = redis.NewScript(luaUpdate)
	getScript    = redis.NewScript(luaGet)
)

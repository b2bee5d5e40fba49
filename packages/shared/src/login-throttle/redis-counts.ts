import type { QueueConnection } from '../redis/index.ts'
import type { CountedAttempt, LoginCounts } from './login-counts.ts'

// Each script is atomic, so that concurrent servers count correctly and every counter has an expiry.
// Keys: the source; then, for each limit, a counter and the time of its next login.
// Arguments of the first script: the period; then, for each limit, its max, its delay, and whether the login is first.
const begin = `
local counted = redis.call('EXISTS', KEYS[1]) == 1 and 1 or (#KEYS - 1) / 2
for i = 1, counted do
  if tonumber(redis.call('GET', KEYS[2 * i]) or '0') >= tonumber(ARGV[3 * i - 1]) then
    local left = redis.call('PTTL', KEYS[2 * i + 1])
    if left > 0 then return left end
    if ARGV[3 * i + 1] ~= '1' then return tonumber(ARGV[3 * i]) end
  end
end
for i = 1, counted do
  local count = redis.call('INCR', KEYS[2 * i])
  if count == 1 then redis.call('PEXPIRE', KEYS[2 * i], ARGV[1]) end
  if count >= tonumber(ARGV[3 * i - 1]) then
    redis.call('SET', KEYS[2 * i + 1], '', 'PX', ARGV[3 * i])
  end
end
return 0`

const takeBack = `
local function takeBack(key)
  if tonumber(redis.call('GET', key) or '0') > 0 then redis.call('DECR', key) end
end
local counted = redis.call('EXISTS', KEYS[1]) == 1 and 1 or (#KEYS - 1) / 2`

const succeeded = `${takeBack}
for i = 2, counted do takeBack(KEYS[2 * i]) end
redis.call('DEL', KEYS[2], KEYS[3])
redis.call('SET', KEYS[1], '', 'PX', ARGV[1])`

const undecided = `${takeBack}
for i = 1, counted do takeBack(KEYS[2 * i]) end`

const keysOf = ({ limits, source }: CountedAttempt): string[] => [
  source,
  ...limits.flatMap(({ key }) => [key, `${key}:next`]),
]

/** Creates counts in Redis that all servers share. */
export function createRedisCounts(connected: () => Promise<QueueConnection>): LoginCounts {
  async function run(
    script: string,
    attempt: CountedAttempt,
    ...values: (string | number)[]
  ): Promise<number> {
    const keys = keysOf(attempt)
    return Number(await (await connected()).eval(script, keys.length, ...keys, ...values))
  }
  return {
    begin: (attempt, periodMs) =>
      run(
        begin,
        attempt,
        periodMs,
        ...attempt.limits.flatMap(({ max, delayMs, isFirst }) => [max, delayMs, isFirst ? 1 : 0]),
      ),
    succeeded: async (attempt, knownMs) => {
      await run(succeeded, attempt, knownMs)
    },
    undecided: async (attempt) => {
      await run(undecided, attempt)
    },
  }
}

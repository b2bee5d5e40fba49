import { formatInterval, parseInstant } from '../time/index.ts'

const day = 86_400_000
const epoch = parseInstant('2020-01-01')
const intervalOf = (from: number, to: number): string =>
  formatInterval({ start: epoch + from * day, end: epoch + to * day })
const load = { tieredReplicants: { _default_tier: 2 } }

const generators: Readonly<Record<string, (index: number, count: number) => object>> = {
  'one interval': () => ({ type: 'loadByInterval', interval: intervalOf(0, 1), ...load }),
  'one interval, dropped': () => ({ type: 'dropByInterval', interval: intervalOf(0, 1) }),
  'nested intervals': (index, count) => ({
    type: 'loadByInterval',
    interval: intervalOf(index - count, count - index),
    ...load,
  }),
  'nested intervals, smallest first': (index) => ({
    type: 'dropByInterval',
    interval: intervalOf(-index - 1, index + 1),
  }),
  'intervals that all overlap': (index, count) => ({
    type: 'broadcastByInterval',
    interval: intervalOf(index - count, index + 1),
  }),
  'adjacent intervals': (index) => ({
    type: index % 2 === 0 ? 'loadByInterval' : 'dropByInterval',
    interval: intervalOf(index, index + 1),
    ...(index % 2 === 0 ? load : {}),
  }),
  'all of time': () => ({
    type: 'dropByInterval',
    interval: '-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z',
  }),
  'alternating periods': (index) => ({
    type: index % 2 === 0 ? 'loadByPeriod' : 'dropByPeriod',
    period: index % 3 === 0 ? 'P1M' : 'P30D',
    includeFuture: index % 4 < 2,
    ...(index % 2 === 0 ? load : {}),
  }),
  'different periods': (index) => ({ type: 'loadByPeriod', period: `P${index + 1}D`, ...load }),
  'periods of months and of days': (index) => ({
    type: 'dropByPeriod',
    period: index % 2 === 0 ? `P${index + 1}M` : `P${30 * index}D`,
    includeFuture: index % 4 < 2,
  }),
  'extreme periods': (index) => ({
    type: index % 2 === 0 ? 'dropBeforeByPeriod' : 'dropByPeriod',
    period: index % 3 === 0 ? 'P999999999Y' : `PT0.${String((index % 999) + 1).padStart(3, '0')}S`,
  }),
  'intervals and periods': (index) =>
    index % 2 === 0
      ? { type: 'loadByInterval', interval: intervalOf(index, index + 2), ...load }
      : { type: 'loadByPeriod', period: `PT${index + 1}H`, includeFuture: index % 4 === 1, ...load },
  'tiers that do not exist': (index) => ({
    type: 'loadByInterval',
    interval: intervalOf(index, index + 1),
    tieredReplicants: Object.fromEntries(Array.from({ length: 20 }, (_, tier) => [`t${index}_${tier}`, 1])),
  }),
}

/**
 * Kinds of long rule lists as JSON: similar rules, rules that shadow each other, and rules that overtake each other.
 */
export const longRuleLists: Readonly<Record<string, (count: number) => object[]>> = Object.fromEntries(
  Object.entries(generators).map(([name, ruleAt]) => [
    name,
    (count: number) => Array.from({ length: count }, (_, index) => ruleAt(index, count)),
  ]),
)

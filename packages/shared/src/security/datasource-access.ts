import { missingPermission } from '@svc/domain/access'
import { createSharedTurns, finishInSlices, type NextTurn } from '../slices/index.ts'
import type { Caller } from './caller.ts'

/** What a caller wants to do with a datasource. `SEE` is READ, but in compatibility mode, lists are complete, as in Druid 37. */
export type DatasourceAccess = 'READ' | 'WRITE' | 'SEE'

type Decider = Pick<Caller, 'decide' | 'compatibility'>

function decide(
  caller: Decider,
  dataSource: string,
  wanted: DatasourceAccess,
): Generator<undefined, boolean> {
  return caller.decide(wanted === 'SEE' ? 'READ' : wanted, dataSource)
}

// However many requests a caller sends, others wait for only one slice of them at a time.
const turnsOfCallers = new WeakMap<Decider, NextTurn>()

async function finishFor<Result>(caller: Decider, steps: Generator<undefined, Result>): Promise<Result> {
  const turns = turnsOfCallers.get(caller) ?? createSharedTurns()
  turnsOfCallers.set(caller, turns)
  return await finishInSlices(steps, turns)
}

/** Returns whether a caller may access a datasource. Pauses for other work if the caller has many complex permissions. */
export async function mayAccess(
  caller: Decider,
  dataSource: string,
  wanted: DatasourceAccess = 'READ',
): Promise<boolean> {
  if (wanted === 'SEE' && caller.compatibility) return true
  const steps = decide(caller, dataSource, wanted)
  const first = steps.next()
  return first.done ? first.value : await finishFor(caller, steps)
}

/** Throws forbidden if a caller may not access a datasource, whether or not it exists. */
export async function assertAccess(
  caller: Decider,
  dataSource: string,
  action: 'READ' | 'WRITE' = 'READ',
): Promise<void> {
  if (!(await mayAccess(caller, dataSource, action)))
    throw missingPermission(action, 'DATASOURCE', dataSource)
}

/** Returns the items whose datasource a caller may access, in the same order. Pauses for other work. */
export async function permittedItems<Item>(
  caller: Decider,
  items: Iterable<Item>,
  dataSourceOf: (item: Item) => string,
  wanted: DatasourceAccess = 'READ',
): Promise<Item[]> {
  return await finishFor(caller, filterInSteps(caller, items, dataSourceOf, wanted))
}

function* filterInSteps<Item>(
  caller: Decider,
  items: Iterable<Item>,
  dataSourceOf: (item: Item) => string,
  wanted: DatasourceAccess,
): Generator<undefined, Item[]> {
  if (wanted === 'SEE' && caller.compatibility) return [...items]
  const decisions = new Map<string, boolean>()
  const permitted: Item[] = []
  for (const item of items) {
    yield
    const name = dataSourceOf(item)
    const decision = decisions.get(name) ?? (yield* decide(caller, name, wanted))
    decisions.set(name, decision)
    if (decision) permitted.push(item)
  }
  return permitted
}

/** Returns the datasources that a caller may access, in the same order. Pauses for other work. */
export const permittedNames = (
  caller: Decider,
  dataSources: Iterable<string>,
  wanted?: DatasourceAccess,
): Promise<string[]> => permittedItems(caller, dataSources, (name) => name, wanted)

/** Returns a function that returns whether a name is one of these datasources, and the caller may access it. */
export async function accessTo(
  caller: Decider,
  dataSources: Iterable<string>,
  wanted?: DatasourceAccess,
): Promise<(dataSource: string) => boolean> {
  const permitted = new Set(await permittedNames(caller, dataSources, wanted))
  return (dataSource) => permitted.has(dataSource)
}

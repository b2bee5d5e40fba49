/** Runs work as soon as a slot is free, in the order of the calls. */
export type Slots = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Returns a function that runs at most `count` pieces of work at a time. */
export function createSlots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

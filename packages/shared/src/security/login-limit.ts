import { unavailable } from '@svc/domain/failure'

/** Runs work a few at a time; beyond those that may wait it is refused as unavailable. */
export function createLoginLimit(
  atOnce: number,
  mostWaiting: number,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) throw unavailable('Too many logins are being verified; try again')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

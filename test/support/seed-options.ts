/** Prints what is wrong with the options of a program and how to use it, and exits. */
export function failWithUsage(usage: string, message: string): never {
  process.stderr.write(`${message}\n\n${usage}`)
  process.exit(2)
}

type Fail = (message: string) => never

/** Returns the number in the text of an option. */
export function readNumber(fail: Fail, name: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  return fail(`Invalid value [${text}] for [--${name}]: expected a number from ${min} to ${max}`)
}

const maxSeed = 2 ** 31 - 1

/** Returns the seeds of the options `--seed` and `--seeds FROM-TO`; 1 if neither is given. */
export function readSeeds(
  fail: Fail,
  { seed, seeds }: { readonly seed?: string | undefined; readonly seeds?: string | undefined },
  maxCount?: number,
): number[] {
  if (seed !== undefined && seeds !== undefined) fail('Options --seed and --seeds cannot be combined')
  if (seeds === undefined) return [readNumber(fail, 'seed', seed ?? '1', 0, maxSeed)]
  const [from = '', to = '', ...rest] = seeds.split('-')
  const [first, last] = [
    readNumber(fail, 'seeds', from, 0, maxSeed),
    readNumber(fail, 'seeds', to, 0, maxSeed),
  ]
  if (rest.length > 0 || last < first || (maxCount !== undefined && last - first >= maxCount)) {
    const limit = maxCount === undefined ? '' : ` with at most ${maxCount} seeds`
    fail(`Invalid value [${seeds}] for [--seeds]: expected FROM-TO${limit}`)
  }
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

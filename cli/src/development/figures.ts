import { cpus } from 'node:os'

/** The processors of this machine, to report with measurements. */
export const describeMachine = (): string => `${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`

/** The median of values; 0 if there are none. */
export const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

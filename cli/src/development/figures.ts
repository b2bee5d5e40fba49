import { cpus } from 'node:os'

/** The processors of this machine, as figures are told with them. */
export const describeMachine = (): string => `${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`

/** The middle one of some values; 0 of none. */
export const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

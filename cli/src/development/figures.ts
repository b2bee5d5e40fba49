import { cpus } from 'node:os'

/** The processors of this machine, to report with measurements. */
export const describeMachine = (): string => `${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`

/** The median of values; 0 if there are none. */
export const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** How long something was predicted to take, and took. */
export interface PredictedTime {
  readonly case: string
  readonly predictedSeconds: number
  readonly measuredSeconds: number
  /** Deviation of the prediction from the measured time. */
  readonly percent: number
}

/** Compares a predicted time with the measured one. */
export const predictedTimeOf = (name: string, predictedMs: number, measuredMs: number): PredictedTime => ({
  case: name,
  predictedSeconds: predictedMs / 1000,
  measuredSeconds: measuredMs / 1000,
  percent: (100 * (predictedMs - measuredMs)) / measuredMs,
})

/** Describes a predicted time in one line. */
export const predictedTimeText = ({
  case: name,
  predictedSeconds,
  measuredSeconds,
  percent,
}: PredictedTime): string =>
  `${name}: predicted ${predictedSeconds.toFixed(1)} s, measured ${measuredSeconds.toFixed(1)} s (${percent.toFixed(0)}%)`

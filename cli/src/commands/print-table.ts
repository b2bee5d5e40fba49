import type { Table } from '../terminal/index.ts'
import { printJson } from './print.ts'

/** Prints an answer as JSON, or as a table; an empty table prints `none` instead. */
export async function printAnswer(
  json: boolean | undefined,
  answer: unknown,
  { header, rows }: Table,
  none: string,
): Promise<void> {
  if (json) {
    printJson(answer)
    return
  }
  const { formatLongTable } = await import('../terminal/index.ts')
  process.stdout.write(rows.length === 0 ? `${none}\n` : `${formatLongTable({ header, rows })}\n`)
}

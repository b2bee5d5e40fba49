import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { unavailable } from '@svc/domain/failure'

const run = promisify(execFile)

/** The trimmed output of a program. Throws a Failure with one line: `problem` and the reason. */
export async function outputOf(program: string, args: readonly string[], problem: string): Promise<string> {
  try {
    return (await run(program, args)).stdout.trim()
  } catch (error) {
    const { code, stderr, message } = error as { code?: string; stderr?: string; message: string }
    const why =
      code === 'ENOENT' ? `[${program}] is not on PATH` : (stderr?.trim() || message).split('\n').at(-1)
    throw unavailable(`${problem}: ${why}`)
  }
}

import type { Interface } from 'node:readline/promises'
import { cancelled } from '@svc/domain/failure'

/** Returns the answer at a prompt; undefined at the end of the input. Throws a Failure at Ctrl-C. */
export async function answerAt(prompt: Interface, question: string): Promise<string | undefined> {
  const interrupted = new Promise<never>((_, reject) => {
    prompt.once('SIGINT', () => reject(cancelled('Interrupted by SIGINT')))
  })
  const answered = prompt.question(question).catch(() => undefined)
  return await Promise.race([answered, interrupted])
}

/** Whether the user confirms something in a terminal. Throws a Failure at Ctrl-C. */
export async function isConfirmed(
  question: string,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input, output, terminal: true })
  try {
    const answer = await answerAt(prompt, `${question} (yes/no) `)
    return /^y(es)?$/i.test(answer?.trim() ?? '')
  } finally {
    prompt.close()
  }
}

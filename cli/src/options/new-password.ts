import { Writable } from 'node:stream'
import { invalidInput } from '@svc/domain/failure'
import { Option } from 'commander'
import { readPassword } from './login-options.ts'

/** Returns the option with which a command reads a new password. */
export const newPasswordOption = (): Option =>
  new Option(
    '--new-password-file <file>',
    'File with the new password (- for standard input; default: a prompt)',
  )

/** The new password in a file, or typed twice at a prompt that does not show it. */
export async function readNewPassword(file: string | undefined): Promise<string> {
  const password = file === undefined ? await promptForPassword() : readPassword(file)
  if (password !== '') return password
  throw invalidInput(
    file === undefined
      ? 'The password is empty: expected at least one character'
      : `${file === '-' ? 'Standard input' : `File [${file}]`} for [--new-password-file] is empty: expected a password`,
  )
}

async function promptForPassword(): Promise<string> {
  if (!process.stdin.isTTY)
    throw invalidInput('Cannot prompt for a password without a terminal: use --new-password-file')
  const [{ createInterface }, { answerAt }] = await Promise.all([
    import('node:readline/promises'),
    import('../terminal/index.ts'),
  ])
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true })
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question)
    const answer = await answerAt(prompt, '')
    process.stderr.write('\n')
    return answer ?? ''
  }
  try {
    const password = await ask('New password: ')
    if ((await ask('Repeat the new password: ')) === password) return password
  } finally {
    prompt.close()
  }
  throw invalidInput('The passwords do not match')
}

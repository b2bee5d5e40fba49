import { unavailable } from '@svc/domain/failure'
import { askProgram } from './ask-program.ts'

const OLDEST_JAVA = 17

/** Throws a Failure with one line when there is no Maven, or no Java compiler that is new enough. */
export async function checkJava(): Promise<void> {
  const version = await askProgram('javac', ['-version'], 'There is no Java compiler')
  const major = javaMajor(version)
  if (major < OLDEST_JAVA) throw unavailable(`Java is [${version}], needed is [${OLDEST_JAVA}] or newer`)
  await askProgram('mvn', ['--version'], 'There is no Maven')
}

/** The major version that `javac -version` tells, such as 17 of `javac 17.0.15` and 8 of `javac 1.8.0_392`; else 0. */
export function javaMajor(version: string): number {
  const [, first = '0', second = '0'] = /(\d+)(?:\.(\d+))?/.exec(version) ?? []
  return Number(first === '1' ? second : first)
}

import { unavailable } from '@svc/domain/failure'
import { outputOf } from './run-program.ts'

const minJavaVersion = 17

/** Throws a Failure with one line if Maven is missing, or the Java compiler is missing or too old. */
export async function checkJava(): Promise<void> {
  const version = await outputOf('javac', ['-version'], 'The Java compiler is missing')
  const major = javaMajor(version)
  if (major < minJavaVersion)
    throw unavailable(`Java [${version}] is too old: expected [${minJavaVersion}] or newer`)
  await outputOf('mvn', ['--version'], 'Maven is missing')
}

/** The major version that `javac -version` prints: 17 for `javac 17.0.15`, 8 for `javac 1.8.0_392`; otherwise 0. */
export function javaMajor(version: string): number {
  const [, first = '0', second = '0'] = /(\d+)(?:\.(\d+))?/.exec(version) ?? []
  return Number(first === '1' ? second : first)
}

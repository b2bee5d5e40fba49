import { unavailable } from '@svc/domain/failure'
import { askProgram } from './ask-program.ts'

/** The oldest Docker Compose that docker-compose.yml is made for. */
const OLDEST_COMPOSE = '2.20'

/** Throws a Failure with one line when there is no container engine, or no Docker Compose that is new enough. */
export async function checkEngine(): Promise<void> {
  await askProgram(
    'docker',
    ['version', '--format', '{{.Server.Version}}'],
    'No container engine can be used',
  )
  const version = await askProgram('docker', ['compose', 'version', '--short'], 'There is no Docker Compose')
  if (!isComposeNewEnough(version)) {
    throw unavailable(`Docker Compose is [${version}], needed is [${OLDEST_COMPOSE}] or newer`)
  }
}

/** Whether a version such as `v2.26.1` or `2.26.1-4` is the oldest that will do, or newer. */
export function isComposeNewEnough(version: string): boolean {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number.parseFloat)
  const [oldestMajor, oldestMinor] = OLDEST_COMPOSE.split('.').map(Number) as [number, number]
  return (
    major !== undefined && (major > oldestMajor || (major === oldestMajor && (minor ?? 0) >= oldestMinor))
  )
}

import { unavailable } from '@svc/domain/failure'
import { outputOf } from './run-program.ts'

/** The min version of Docker Compose for docker-compose.yml. */
const minComposeVersion = '2.20'

/** Throws a Failure with one line if there is no container engine, or Docker Compose is missing or too old. */
export async function checkEngine(): Promise<void> {
  await outputOf('docker', ['version', '--format', '{{.Server.Version}}'], 'No container engine available')
  const version = await outputOf('docker', ['compose', 'version', '--short'], 'Docker Compose is missing')
  if (!isComposeNewEnough(version)) {
    throw unavailable(`Docker Compose [${version}] is too old: expected [${minComposeVersion}] or newer`)
  }
}

/** Whether a version such as `v2.26.1` or `2.26.1-4` is at least the min version. */
export function isComposeNewEnough(version: string): boolean {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number.parseFloat)
  const [minMajor, minMinor] = minComposeVersion.split('.').map(Number) as [number, number]
  return major !== undefined && (major > minMajor || (major === minMajor && (minor ?? 0) >= minMinor))
}

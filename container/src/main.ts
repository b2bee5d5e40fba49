// The entry point of the image. The first argument selects what the container does; see docker-compose.yml and Dockerfile.
import { describeError, Failure } from '@svc/domain/failure'
import { roles } from '@svc/shared/config'
import { stackOf } from '@svc/shared/runtime'

const [task, argument] = process.argv.slice(2)

try {
  await run()
} catch (error) {
  // One line for expected failures; anything else is a bug, so the stack helps to fix it.
  const stack = error instanceof Failure || !(error instanceof Error) ? '' : `${stackOf(error)}\n`
  process.stderr.write(`svc: ${describeError(error)}\n${stack}`)
  process.exit(1)
}

async function run(): Promise<void> {
  const role = roles.find((name) => name === argument)
  if (task === 'serve' && role) return (await import('./serve.ts')).serve(role)
  if (task === 'prepare' && argument) return (await import('./prepare.ts')).prepare(argument, process.env)
  if (task === 'password') return (await import('./password.ts')).showPassword()
  process.stderr.write(
    `svc: Invalid arguments: expected [prepare] and the name of a project, [serve] and one of [${roles.join(', ')}], or [password]\n`,
  )
  process.exit(2)
}

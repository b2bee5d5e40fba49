import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { type ConnectionOptions, collect, connect, withSvcConnection } from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface ExplainOptions extends ConnectionOptions {
  readonly method: string
  readonly authorizer?: string
  readonly group?: readonly string[]
  readonly json?: boolean
}

/** Adds `./svc auth` with its commands. */
export function addAuth(program: Command): void {
  const auth = program.command('auth').description('Explain who may do what in a running cluster')
  withSvcConnection(auth.command('explain').description('Explain why a user may or may not make a request'))
    .argument('<user>', 'User name')
    .argument('<path>', 'Request path, for example /svc/coordinator/v1/rules/flights')
    .option('--method <name>', 'HTTP method: GET, POST, PUT, or DELETE', 'GET')
    .option('--authorizer <name>', 'Authorizer that decides (default: the only one configured)')
    .option('--group <dn>', 'Directory group of the user (repeatable)', collect)
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Exit status: 0 if the request is allowed or depends on its content, 4 if it is denied.

Examples:
  ./svc auth explain carol /svc/coordinator/v1/rules/flights --method POST
  ./svc auth explain bob /status --group cn=analysts,ou=groups,dc=example,dc=org`,
    )
    .action(async (user: string, path: string, options: ExplainOptions) => {
      const method = options.method.toUpperCase()
      if (!['GET', 'POST', 'PUT', 'DELETE'].includes(method))
        throw invalidInput(
          `Invalid value [${options.method}] for [--method]: expected GET, POST, PUT, or DELETE`,
        )
      const client = await connect(options)
      const { explainAccess, explanationText } = await import('../auth/index.ts')
      const { authorizer, group: groups = [], json } = options
      const explanation = await explainAccess(client, { user, path, method, authorizer, groups })
      if (json) printJson(explanation)
      else process.stdout.write(explanationText(explanation))
      process.exitCode = explanation.allowed === false ? exitStatus.refused : exitStatus.done
    })
}

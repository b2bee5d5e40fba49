import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { collect } from './collect.ts'
import { connectToHome, withHome } from './home-option.ts'
import { printJson } from './print.ts'

interface ExplainOptions {
  readonly home?: string
  readonly method: string
  readonly authorizer?: string
  readonly group?: readonly string[]
  readonly json?: boolean
}

/** Adds `./svc auth` with its commands. */
export function addAuth(program: Command): void {
  const auth = program.command('auth').description('who may do what in a running cluster, and why')
  withHome(auth.command('explain').description('tell why a user may or may not make a request'))
    .argument('<user>', 'name of the user')
    .argument('<path>', 'path of the request, such as /svc/coordinator/v1/rules/flights')
    .option('--method <name>', 'GET, POST, PUT or DELETE', 'GET')
    .option('--authorizer <name>', 'the authorizer that decides (default: the only one there is)')
    .option('--group <dn>', 'a group of the user in a directory; may be given again', collect)
    .option('--json', 'print it as JSON')
    .addHelpText(
      'after',
      `
Exit status: 0 where the request is allowed, 1 where it is refused.

Examples:
  ./svc auth explain carol /svc/coordinator/v1/rules/flights --method POST
  ./svc auth explain bob /status --group cn=analysts,ou=groups,dc=example,dc=org`,
    )
    .action(async (user: string, path: string, options: ExplainOptions) => {
      const method = options.method.toUpperCase()
      if (!['GET', 'POST', 'PUT', 'DELETE'].includes(method))
        throw invalidInput(
          `Option --method has value [${options.method}], allowed are GET, POST, PUT and DELETE`,
        )
      const client = await connectToHome(options.home)
      const { explainAccess, explanationText } = await import('../auth/index.ts')
      const { authorizer, group: groups = [], json } = options
      const explanation = await explainAccess(client, { user, path, method, authorizer, groups })
      if (json) printJson(explanation)
      else process.stdout.write(explanationText(explanation))
      process.exitCode = explanation.allowed ? 0 : 1
    })
}

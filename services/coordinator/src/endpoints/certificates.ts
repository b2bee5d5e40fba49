import { createConcurrencyLimit } from '@svc/shared/concurrency-limit'
import { roles } from '@svc/shared/config'
import { jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { loadServerProblems } from '@svc/shared/postgres'
import { certificateShape, problemLifeMs, type ServiceContext } from '@svc/shared/service'
import { certificatesIn, describeCertificate, presentedCertificate } from '@svc/shared/tls'
import * as z from 'zod'
import { keepFor } from '../answers/index.ts'

// Each look is a TLS handshake.
const keptMs = 5000
const serversAtOnce = 16

const certificatesShape = z
  .object({
    time: z
      .string()
      .describe(
        'When the certificates were checked, in real time, even if the clock of the cluster is simulated',
      ),
    servers: z.array(
      z.object({
        role: z.string(),
        server: z.string(),
        certificate: certificateShape.nullable().describe('Null if the server could not be reached over TLS'),
        problem: z
          .string()
          .nullable()
          .describe('Why other servers reject the certificate, such as CERT_HAS_EXPIRED or CERT_REVOKED'),
      }),
    ),
    authorities: z
      .array(certificateShape)
      .describe('The authorities that the coordinator trusts, if configured'),
  })
  .meta({ title: 'Certificates' })

type CertificatesContext = Pick<ServiceContext, 'database' | 'discovery' | 'stores'>

/** Returns the endpoint that shows the certificate of every server, even if it is invalid. */
export function certificatesRoute(context: CertificatesContext): Route {
  const answer = keepFor(keptMs, () => certificatesOf(context))
  return route({
    method: 'GET',
    path: '/svc/coordinator/v1/certificates',
    access: state('READ'),
    summary:
      'List the certificates that the servers of the cluster present, and whether this coordinator accepts them',
    answers: [jsonAnswer(certificatesShape)],
    handle: () => answer(),
  })
}

async function certificatesOf({ database, discovery, stores }: CertificatesContext) {
  await discovery.refresh()
  const { client } = stores.current()
  const announced = roles.flatMap((role) => discovery.nodes(role))
  const plain = new Set(announced.flatMap(({ name, tlsPort }) => (tlsPort === null ? [name] : [])))
  // A server that others cannot call because of its certificate is not announced, but reports that.
  const withProblems = await loadServerProblems(database, problemLifeMs)
  const servers = new Map(
    [...announced, ...withProblems].map(({ role, name }) => [`${role} ${name}`, { role, name }]),
  )
  const limit = createConcurrencyLimit(serversAtOnce)
  const presented = [...servers.values()]
    .filter(({ name }) => !plain.has(name))
    .map(({ role, name }) =>
      limit(async () => {
        const { host, port } = addressOf(name)
        return { role, server: name, ...(await presentedCertificate(host, port, client)) }
      }),
    )
  return {
    time: new Date().toISOString(),
    servers: await Promise.all(presented),
    authorities: certificatesIn([client.ca].flat().join('\n')).map(describeCertificate),
  }
}

/** Splits the name of a server, such as `10.0.0.1:8081`. */
function addressOf(name: string): { readonly host: string; readonly port: number } {
  const at = name.lastIndexOf(':')
  return { host: name.slice(0, at), port: Number(name.slice(at + 1)) }
}

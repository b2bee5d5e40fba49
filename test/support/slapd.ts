import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isListening } from '@svc/cli/cluster'
import { freePort, waitUntil } from '@svc/shared/testing'
import { libraryPath } from '../../launcher/debian-packages.mjs'
import { findProgram } from './debian-program.ts'

/** An OpenLDAP server for a test, filled by the test, with the memberOf overlay. */
export interface Slapd {
  readonly url: string
  readonly tlsUrl: string
  /** Stops it; it can be started again with the same data. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** The suffix, and the user who can write below it. */
export const suffix = 'dc=example,dc=org'
const rootDn = `cn=root,${suffix}`
const rootPassword = 'root-secret'

/** Certificate and key of the TLS port as PEM files, with the authority that clients trust. */
export interface SlapdTls {
  readonly certificateFile: string
  readonly keyFile: string
}

/** Starts a directory in a folder of the test. */
export async function startSlapd(folder: string, ldif: string, tls: SlapdTls): Promise<Slapd> {
  const program = await findProgram({
    name: 'slapd',
    folder: 'usr/sbin',
    package: 'slapd',
    alsoNeeded: /^(lib|slapd)/,
  })
  const data = path.join(folder, 'data')
  mkdirSync(data, { recursive: true })
  const configuration = path.join(folder, 'slapd.conf')
  const modules = [`${program.base}/usr/lib/ldap`, `${program.base}/usr/lib64/openldap`].find(existsSync)
  const schemas = `${program.base}/etc/ldap/schema`
  writeFileSync(
    configuration,
    `${[
      ...['core', 'cosine', 'inetorgperson'].map((name) => `include ${schemas}/${name}.schema`),
      ...(modules === undefined ? [] : [`modulepath ${modules}`]),
      'moduleload back_mdb',
      'moduleload memberof',
      `pidfile ${folder}/slapd.pid`,
      `argsfile ${folder}/slapd.args`,
      // Many directories treat a bind without a password as an anonymous success, which is the worst case.
      'allow bind_anon_cred bind_anon_dn',
      `TLSCertificateFile ${tls.certificateFile}`,
      `TLSCertificateKeyFile ${tls.keyFile}`,
      'database mdb',
      'maxsize 33554432',
      `suffix "${suffix}"`,
      `rootdn "${rootDn}"`,
      `rootpw ${rootPassword}`,
      `directory ${data}`,
      'overlay memberof',
      'access to attrs=userPassword by anonymous auth by * none',
      'access to * by users read by * none',
    ].join('\n')}\n`,
  )
  const libraries = program.base === '' ? undefined : libraryPath(program.base)
  const env = { ...process.env, ...(libraries ? { LD_LIBRARY_PATH: libraries } : {}) }
  const [port, tlsPort] = [await freePort(), await freePort()]
  const [url, tlsUrl] = [`ldap://127.0.0.1:${port}`, `ldaps://127.0.0.1:${tlsPort}`]
  const addresses = `${url}/ ${tlsUrl}/`
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    // -d 0 keeps slapd in the foreground, so that it receives signals.
    child = spawn(program.file, ['-f', configuration, '-h', addresses, '-d', '0'], { env, stdio: 'ignore' })
    const started = child
    const listens = () => {
      assert.equal(started.exitCode, null, 'slapd exited')
      return isListening(tlsUrl)
    }
    await waitUntil('slapd listens', listens, Boolean, { pollMs: 20 })
  }
  async function stop(): Promise<void> {
    if (!child || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }

  await start()
  await addEntries(url, ldif)
  return { url, tlsUrl, start, stop }
}

/** Adds entries with a client, because the overlay maintains memberOf only then. */
async function addEntries(url: string, ldif: string): Promise<void> {
  const { Client } = await import('ldapts')
  const client = new Client({ url })
  await client.bind(rootDn, rootPassword)
  for (const block of ldif.trim().split(/\n\s*\n/)) {
    const lines = block.split('\n').map((line) => line.trim())
    const attributes: Record<string, string[]> = {}
    for (const line of lines.slice(1)) {
      const colon = line.indexOf(': ')
      const name = line.slice(0, colon)
      attributes[name] = [...(attributes[name] ?? []), line.slice(colon + 2)]
    }
    await client.add(lines[0]!.replace(/^dn: /, ''), attributes)
  }
  await client.unbind()
}

/** Creates a self-signed certificate for hosts with openssl, as PEM files. */
export async function createCertificate(folder: string, name: string, subjects: string): Promise<SlapdTls> {
  const keyFile = path.join(folder, `${name}.key`)
  const certificateFile = path.join(folder, `${name}.pem`)
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`]
  const files = ['-keyout', keyFile, '-out', certificateFile, '-addext', `subjectAltName=${subjects}`]
  await new Promise<void>((resolve, reject) => {
    execFile('openssl', [...args, ...files], (error) => (error ? reject(error) : resolve()))
  })
  return { keyFile, certificateFile }
}

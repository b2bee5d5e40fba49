import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { isListening } from '@svc/cli/cluster'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import type { S3Server } from '../support/s3-cases.ts'

const run = promisify(execFile)
const build = path.join(repositoryRoot, '.cache/storage')
const classPathFile = path.join(build, 'class-path')

/** A real S3 server, which keeps the objects of its bucket in a folder. */
export interface S3Proxy extends S3Server {
  readonly secureUrl: string
}

/** Where a server listens, and its certificate. */
export interface S3ProxyOptions {
  readonly folder: string
  readonly port: number
  readonly securePort: number
  /** A key store of type PKCS #12. */
  readonly keyStore: { readonly file: string; readonly password: string }
}

// The server writes an object to a file of such a name first, and leaves it behind if it is killed.
const unfinished = /-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** Downloads the server with Maven. */
async function download(): Promise<string> {
  mkdirSync(build, { recursive: true })
  const goals = ['dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`]
  await run('mvn', ['-q', '-B', '-f', path.join(import.meta.dirname, 'pom.xml'), ...goals], {
    timeout: 10 * 60_000,
  }).catch((error: { stdout?: string }) => assert.fail(`Maven: ${error.stdout?.slice(0, 2000)}`))
  return readFileSync(classPathFile, 'utf8').trim()
}

/** Starts a server. The caller kills it. */
export async function startS3Proxy({ folder, port, securePort, keyStore }: S3ProxyOptions): Promise<S3Proxy> {
  const classPath = await download()
  const bucket = 'test'
  const [accessKey, secretKey] = ['local-identity', 'local/credential+=']
  const objects = path.join(folder, 'objects')
  mkdirSync(path.join(objects, bucket), { recursive: true })
  const propertiesFile = path.join(folder, 's3proxy.properties')
  const url = `http://127.0.0.1:${port}`
  const properties = {
    's3proxy.endpoint': url,
    's3proxy.secure-endpoint': `https://127.0.0.1:${securePort}`,
    's3proxy.keystore-path': keyStore.file,
    's3proxy.keystore-password': keyStore.password,
    's3proxy.authorization': 'aws-v4',
    's3proxy.identity': accessKey,
    's3proxy.credential': secretKey,
    's3proxy.v4-max-non-chunked-request-size': String(64 << 20),
    'jclouds.provider': 'filesystem-nio2',
    'jclouds.identity': 'unused',
    'jclouds.credential': 'unused',
    'jclouds.filesystem.basedir': objects,
  }
  writeFileSync(
    propertiesFile,
    Object.entries(properties)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  const logFile = path.join(folder, 's3proxy.log')
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const log = openSync(logFile, 'a')
    const logging = `-Dlogback.configurationFile=${path.join(import.meta.dirname, 'logback.xml')}`
    const args = ['-Xmx256m', '-XX:TieredStopAtLevel=1', logging, '-cp', classPath, 'org.gaul.s3proxy.Main']
    child = spawn('java', [...args, '--properties', propertiesFile], { stdio: ['ignore', log, log] })
    closeSync(log)
    await waitUntil(`the S3 server listens (see ${logFile})`, () => isListening(url), Boolean, {
      timeoutMs: 60_000,
    })
  }
  const kill = async (): Promise<void> => {
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    if (child?.kill('SIGKILL')) await ended
  }
  await start()
  return {
    url,
    secureUrl: `https://127.0.0.1:${securePort}`,
    bucket,
    accessKey,
    secretKey,
    keys: (prefix) =>
      readdirSync(path.join(objects, bucket), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(path.join(objects, bucket), path.join(entry.parentPath, entry.name)))
        .filter((key) => key.startsWith(prefix) && !unfinished.test(key)),
    kill,
    start,
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import {
  AbstractStartedContainer,
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers'
import { Agent, request } from 'undici'

const routerPort = 9088
const certificateFile = '/data/.svc/pki/authority.pem'
const adminPasswordFile = '/data/.svc/secrets/admin-password'
const startTimeoutMs = 120_000
const loadTimeoutMs = 60_000
const pollMs = 100
const maxLogLines = 20

interface Datasource {
  readonly name: string
  readonly csv: string
  readonly timestampColumn: string
}

/**
 * A complete svc cluster in one container, with TLS and logins. Every path is also served under `/druid`, so clients
 * written for Apache Druid work unchanged. The coordinator runs once per second.
 */
export class SvcContainer extends GenericContainer {
  private readonly rules = new Map<string, readonly object[]>()
  private readonly datasources: Datasource[] = []

  /** Creates a container of an image with a complete cluster, such as `svc-cluster`. */
  constructor(image: string) {
    super(image)
    this.withExposedPorts(routerPort)
    this.withProperty('svc.api.aliases', '["druid"]')
    this.withProperty('svc.coordinator.period', 'PT1S')
    this.withWaitStrategy(Wait.forLogMessage(/Ready: /).withStartupTimeout(startTimeoutMs))
  }

  /** Sets a property of all servers, such as `svc.server.maxSize`. */
  withProperty(name: string, value: string): this {
    return this.withEnvironment({ [name.replaceAll('.', '_')]: value })
  }

  /** Sets the number of historicals by tier, such as `hot=2,_default_tier=1`. */
  withHistoricals(numbersByTier: string): this {
    return this.withEnvironment({ SVC_HISTORICALS: numbersByTier })
  }

  /** Sets the retention rules of a datasource, or the default rules (`_default`). */
  withRules(dataSource: string, rules: readonly object[]): this {
    this.rules.set(dataSource, rules)
    return this
  }

  /**
   * Ingests rows of CSV, whose first line names the columns, as one segment per day. The promise of `start` resolves when
   * the segments that the rules load are loaded.
   */
  withDatasource(name: string, csv: string, timestampColumn: string): this {
    this.datasources.push({ name, csv, timestampColumn })
    return this
  }

  /**
   * Starts the container. Throws an Error if the cluster does not start, with the end of its log, or if rules or data are
   * rejected.
   */
  override async start(): Promise<StartedSvcContainer> {
    // The certificates must be valid for the address at which tests reach the container.
    const { info } = await getContainerRuntimeClient()
    this.withEnvironment({ SVC_HOSTS: info.containerRuntime.host })
    const container = await this.startReportingLog()
    try {
      const { output: certificate } = await container.exec(['cat', certificateFile])
      const { output: adminPassword } = await container.exec(['cat', adminPasswordFile])
      const started = new StartedSvcContainer(container, certificate, adminPassword)
      await started.prepare(this.rules, this.datasources)
      return started
    } catch (error) {
      await container.stop()
      throw error
    }
  }

  private async startReportingLog(): Promise<StartedTestContainer> {
    const lines: string[] = []
    const consumer = this.logConsumer
    this.withLogConsumer(async (stream) => {
      stream.on('data', (line) => {
        lines.push(String(line).trimEnd())
        if (lines.length > maxLogLines) lines.shift()
      })
      await consumer?.(stream)
    })
    try {
      return await super.start()
    } catch (error) {
      throw new Error(`The cluster did not start. The end of its log:\n${lines.join('\n')}`, { cause: error })
    } finally {
      this.logConsumer = consumer
    }
  }
}

/** A cluster that runs. */
export class StartedSvcContainer extends AbstractStartedContainer {
  private readonly certificate: string
  private readonly adminPassword: string

  constructor(container: StartedTestContainer, certificate: string, adminPassword: string) {
    super(container)
    this.certificate = certificate
    this.adminPassword = adminPassword
  }

  /** The URL of the router. */
  getRouterUrl(): string {
    return `https://${this.getHost()}:${this.getMappedPort(routerPort)}`
  }

  /** The user who may do everything. */
  getAdminUser(): string {
    return 'admin'
  }

  /** The password of that user: a random one, unless the environment sets another. */
  getAdminPassword(): string {
    return this.adminPassword
  }

  /** The certificate of the authority that clients must trust (PEM). */
  getCertificate(): string {
    return this.certificate
  }

  /** Sets rules and ingests data. Throws an Error if that fails. */
  async prepare(
    rules: ReadonlyMap<string, readonly object[]>,
    datasources: readonly Datasource[],
  ): Promise<void> {
    const agent = new Agent({ connect: { ca: this.certificate } })
    try {
      const send = this.senderOf(agent)
      // On a busy machine, the first connections may be closed without an answer, although the cluster is ready. Only this
      // request is repeated, because it changes nothing.
      await poll(
        `an answer from [${this.getRouterUrl()}]`,
        async () => await send('GET', '/status/health').catch(String),
        (answer) => answer === true,
      )
      for (const [name, list] of rules)
        await send('POST', `/svc/coordinator/v1/rules/${encodeURIComponent(name)}`, list)
      await Promise.all(datasources.map((datasource) => ingest(send, datasource)))
      if (datasources.length > 0) await untilLoaded(send, datasources)
    } finally {
      await agent.close()
    }
  }

  private senderOf(agent: Agent): Send {
    const login = Buffer.from(`${this.getAdminUser()}:${this.adminPassword}`).toString('base64')
    return async (method, path, json) => {
      const { statusCode, body } = await request(`${this.getRouterUrl()}${path}`, {
        method,
        dispatcher: agent,
        headers: { authorization: `Basic ${login}`, 'content-type': 'application/json' },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      })
      const answer = await body.text()
      if (statusCode >= 300) throw new Error(`${method} ${path} returned ${statusCode}: ${answer}`)
      return answer === '' ? undefined : JSON.parse(answer)
    }
  }
}

type Send = (method: 'GET' | 'POST', path: string, json?: unknown) => Promise<unknown>

async function ingest(send: Send, { name, csv, timestampColumn }: Datasource): Promise<void> {
  const spec = {
    dataSchema: {
      dataSource: name,
      timestampSpec: { column: timestampColumn, format: 'auto' },
      dimensionsSpec: {},
      granularitySpec: { segmentGranularity: 'DAY', queryGranularity: 'NONE', rollup: false },
    },
    ioConfig: {
      type: 'index_parallel',
      inputSource: { type: 'inline', data: csv },
      inputFormat: { type: 'csv', findColumnsFromHeader: true },
    },
  }
  const { task } = (await send('POST', '/svc/indexer/v1/task', { type: 'index_parallel', spec })) as {
    task: string
  }
  const path = `/svc/indexer/v1/task/${encodeURIComponent(task)}/status`
  const { status } = await poll(
    `task [${task}] to complete`,
    async () => (await send('GET', path)) as { status: { statusCode: string; errorMsg: string | null } },
    ({ status }) => status.statusCode !== 'RUNNING',
  )
  if (status.statusCode !== 'SUCCESS') throw new Error(`Task [${task}] failed: ${status.errorMsg}`)
}

async function untilLoaded(send: Send, datasources: readonly Datasource[]): Promise<void> {
  await poll(
    'the datasources to load',
    async () =>
      (await send('GET', '/svc/coordinator/v1/loadstatus?forceMetadataRefresh=true')) as Record<
        string,
        number
      >,
    (percents) => datasources.every(({ name }) => (percents[name] ?? 100) === 100),
  )
}

async function poll<Value>(
  what: string,
  read: () => Promise<Value>,
  isReached: (value: Value) => boolean,
): Promise<Value> {
  const startedAt = performance.now()
  for (;;) {
    const value = await read()
    if (isReached(value)) return value
    if (performance.now() - startedAt > loadTimeoutMs)
      throw new Error(`Timed out waiting for ${what}: ${JSON.stringify(value)}`)
    await delay(pollMs)
  }
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallGroup, callJournalPath, groupCalls, type RecordedCall } from './index.ts'

const broker = { role: 'broker', name: 'b:8082' }
const coordinator = { role: 'coordinator', name: 'c:8081' }
const servers = [
  { ...broker, baseUrl: 'https://b:8082' },
  { ...coordinator, baseUrl: 'https://c:8081' },
]

const sent = (more: Partial<RecordedCall> = {}): RecordedCall => ({
  time: '2026-01-01T00:00:00.000Z',
  direction: 'sent',
  from: 'broker b:8082',
  to: 'https://c:8081',
  method: 'POST',
  path: '/svc-internal/v1/servers/report',
  tls: true,
  identity: 'svc_system',
  status: 200,
  error: null,
  ...more,
})
const received = (more: Partial<RecordedCall> = {}): RecordedCall =>
  sent({ direction: 'received', to: 'coordinator c:8081', ...more })

const shortOf = ({ from, to, path, calls, failures, lastStatus }: CallGroup) =>
  `${from.role} ${from.name} > ${to.role} ${to.name} ${path} ${calls}/${failures} ${lastStatus}`

const cases: readonly {
  readonly name: string
  readonly journals: Parameters<typeof groupCalls>[0]
  readonly expected: readonly string[]
}[] = [
  {
    name: 'counts a call once that both servers recorded',
    journals: [
      { server: broker, calls: [sent()] },
      { server: coordinator, calls: [received()] },
    ],
    expected: ['broker b:8082 > coordinator c:8081 /svc-internal/v1/servers/report 1/0 200'],
  },
  {
    name: 'counts received calls if the journal of the caller is missing',
    journals: [{ server: coordinator, calls: [received(), received({ time: '2026-01-01T00:00:01.000Z' })] }],
    expected: ['broker b:8082 > coordinator c:8081 /svc-internal/v1/servers/report 2/0 200'],
  },
  {
    name: 'counts failures, and shows the last call, whatever the order',
    journals: [
      {
        server: broker,
        calls: [
          sent({ time: '2026-01-01T00:00:02.000Z', status: null, error: 'timeout' }),
          sent({ time: '2026-01-01T00:00:01.000Z', status: 503 }),
          sent(),
        ],
      },
    ],
    expected: ['broker b:8082 > coordinator c:8081 /svc-internal/v1/servers/report 3/2 null'],
  },
  {
    name: 'separates requests, and sorts them',
    journals: [{ server: broker, calls: [sent({ path: '/z' }), sent({ path: '/a' })] }],
    expected: [
      'broker b:8082 > coordinator c:8081 /a 1/0 200',
      'broker b:8082 > coordinator c:8081 /z 1/0 200',
    ],
  },
  {
    name: 'leaves out the requests that read the journals',
    journals: [{ server: coordinator, calls: [sent({ from: 'coordinator c:8081', path: callJournalPath })] }],
    expected: [],
  },
  {
    name: 'keeps callers and servers that are not part of the cluster',
    journals: [
      { server: coordinator, calls: [received({ from: '' })] },
      { server: broker, calls: [sent({ to: 'https://gone:1' })] },
    ],
    expected: [
      '  > coordinator c:8081 /svc-internal/v1/servers/report 1/0 200',
      'broker b:8082 >  https://gone:1 /svc-internal/v1/servers/report 1/0 200',
    ],
  },
]

describe('groups of calls', () => {
  for (const { name, journals, expected } of cases)
    it(name, () => assert.deepEqual(groupCalls(journals, servers).map(shortOf), expected))
})

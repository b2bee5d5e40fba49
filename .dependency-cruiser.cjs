/** The rooms that may load a package at run time. All other code imports these rooms. */
const roomsOfDrivers = [
  { driver: 'pg|pg-copy-streams', rooms: 'packages/shared/src/postgres/' },
  { driver: 'bullmq|ioredis', rooms: 'packages/shared/src/redis/' },
  { driver: '@aws-sdk/client-s3', rooms: 'packages/shared/src/deep-storage/' },
  { driver: 'express', rooms: 'packages/shared/src/http/' },
  { driver: 'ldapts', rooms: 'packages/shared/src/security/' },
  { driver: 'undici', rooms: 'services/router/src/' },
  {
    driver: '@duckdb/node-api',
    rooms: '(packages/shared/src/(duckdb|ingestion)|services/broker/src/query-processes)/',
  },
  { driver: 'node-forge', rooms: '(packages/shared/src/tls|cli/src/pki)/' },
  { driver: 'p-retry', rooms: 'packages/shared/src/retry/' },
  { driver: 'winston', rooms: 'packages/shared/src/service/' },
  // Describes responses. The readers of the domain read all input.
  {
    driver: 'zod',
    rooms:
      '(packages/shared/src/(compaction|duties|http|segment-serving|service|shapes)|services/[^/]+/src)/',
  },
]

const driverRules = roomsOfDrivers.map(({ driver, rooms }) => ({
  name: `only-its-room-loads-${driver.replace(/[^\w|-]/g, '-').replaceAll('|', '-or-')}`,
  severity: 'error',
  from: { path: '^(packages|services|cli|container)/', pathNot: [`^${rooms}`, '\\.test\\.ts$'] },
  to: { path: `/node_modules/(${driver})/`, dependencyTypesNot: ['type-only'] },
}))

/**
 * The files of rooms that other code may import. A peon loads only the part of the room for compaction that has its own. The
 * configuration needs the TLS versions, but the room for TLS needs the configuration.
 */
const doors = [
  '^(packages/[^/]+|cli)/src/[^/]+/index\\.ts$',
  '^packages/shared/src/compaction/rewriting/index\\.ts$',
  '^packages/shared/src/tls/versions\\.ts$',
]

/** The direction of dependencies: services and cli -> shared -> domain -> nothing; other code imports only the index.ts of a room. */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Modules that need each other, even if only for types, cannot be understood one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'domain-is-pure',
      comment:
        'The domain only decides: it has no I/O, uses nothing of Node.js, and imports no package except luxon for time.',
      severity: 'error',
      from: { path: '^packages/domain/src', pathNot: '\\.test\\.ts$' },
      to: { pathNot: ['^packages/domain/src', '/luxon/'] },
    },
    {
      name: 'luxon-in-time-only',
      severity: 'error',
      from: { path: '^packages/domain/src', pathNot: ['^packages/domain/src/time/', '\\.test\\.ts$'] },
      to: { path: '/luxon/' },
    },
    {
      name: 'shared-knows-domain-only',
      comment: 'Shared code does not import the services or the command that starts them.',
      severity: 'error',
      from: { path: '^packages/shared/' },
      to: { path: '^(services|cli|container|test|launcher)/' },
    },
    {
      name: 'services-are-apart',
      comment: 'Services call each other over the network.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'services-do-not-know-the-cli',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: '^(cli|container|test|launcher)/' },
    },
    {
      name: 'cli-starts-services-as-processes',
      severity: 'error',
      from: { path: '^(cli|container)/' },
      to: { path: '^(services|test)/' },
    },
    {
      name: 'console-knows-the-domain-only',
      comment:
        'The console runs in browsers. It decides with the domain, and calls the API for everything else.',
      severity: 'error',
      from: { path: '^console/src' },
      to: { path: '^(services|cli|container|test|launcher|packages/shared)/' },
    },
    {
      name: 'nothing-knows-the-console',
      severity: 'error',
      from: { path: '^(packages|services|cli|container)/' },
      to: { path: '^console/' },
    },
    {
      name: 'rooms-of-the-console-have-doors',
      severity: 'error',
      from: { path: '^console/src/([^/]+)' },
      to: { path: '^console/src/[^/]+/.+', pathNot: ['^console/src/[^/]+/index\\.ts$', '^console/src/$1/'] },
    },
    {
      name: 'rooms-of-packages-have-doors',
      comment: 'Code outside a room imports only its index.ts.',
      severity: 'error',
      from: { path: '^(packages/[^/]+|cli)/src/([^/]+)/' },
      to: {
        path: '^(packages/[^/]+|cli)/src/[^/]+/.+',
        pathNot: [...doors, '^$1/src/$2/'],
      },
    },
    {
      name: 'rooms-of-services-have-doors',
      comment:
        'Within a service, code outside a room imports only its index.ts; main.ts imports the files of endpoints/.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/([^/]+)', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^services/[^/]+/src/[^/]+/.+',
        pathNot: ['^services/[^/]+/src/[^/]+/index\\.ts$', '^services/$1/src/($2|endpoints)/'],
      },
    },
    {
      name: 'rooms-do-not-know-the-endpoints',
      comment: 'Endpoints call the rooms of their service, never the other way around.',
      severity: 'error',
      from: {
        path: '^services/[^/]+/src/[^/]+/',
        pathNot: ['^services/[^/]+/src/endpoints/', '(\\.test|/test-[^/]+)\\.ts$'],
      },
      to: { path: '^services/[^/]+/src/endpoints/' },
    },
    {
      name: 'services-enter-by-doors',
      comment: 'Only the stand-ins of the simulation replace single files.',
      severity: 'error',
      from: { path: '^(services|console|container|test)/', pathNot: '^test/simulation/stand-ins/' },
      to: {
        path: '^(packages/[^/]+|cli)/src/[^/]+/.+',
        pathNot: doors,
      },
    },
    {
      name: 'production-code-does-not-import-test-code',
      comment: 'What only tests need stays out of what runs; benchmarks and test commands are the exception.',
      severity: 'error',
      from: {
        path: '^(packages|services|cli|console|container)/',
        pathNot: [
          '\\.test\\.ts$',
          '/test-[^/]+\\.ts$',
          '^((packages|services)/[^/]+|cli)/src/testing/',
          '^cli/src/development/',
        ],
      },
      to: { path: ['/src/testing/', '/test-[^/]+\\.ts$', '\\.test\\.ts$'] },
    },
    ...driverRules,
    {
      name: 'nothing-undeclared',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}

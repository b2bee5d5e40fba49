/** Where users see a string; `answer` is any text in a response that is not an error. */
export const stringKinds = [
  'help',
  'output',
  'error',
  'answer',
  'log',
  'openapi',
  'property',
  'metric',
  'monitoring',
  'console',
] as const
export type StringKind = (typeof stringKinds)[number]

/** What the place of a string says: its kind, that users never see it (`code`), or nothing. */
export type Verdict = StringKind | 'code' | undefined

/** A call whose arguments users read. */
export interface CallRule {
  readonly kind: StringKind
  /** The name of the called function or method. */
  readonly callee: string
  /** Indexes of the arguments that users read. */
  readonly args: readonly number[]
  /** Matches the expression before the dot, such as `logger`; any by default. */
  readonly receiver?: RegExp
  /** Files to which the rule applies; all by default. */
  readonly file?: RegExp
}

/** A property of object literals whose value users read, or never see (`code`). */
export interface PropertyRule {
  readonly kind: Exclude<Verdict, undefined>
  readonly name: string
  readonly file?: RegExp
}

const rulesFor = (
  kind: StringKind,
  args: readonly number[],
  callees: readonly string[],
  scope: Pick<CallRule, 'receiver' | 'file'> = {},
): CallRule[] => callees.map((callee) => ({ kind, callee, args, ...scope }))

const inCli = { file: /^cli\// }
const inCommands = { file: /^cli\/src\/commands\// }
const inServers = { file: /^(packages|services)\// }
const inMetrics = { file: /^packages\/shared\/src\/metrics\// }
const inConfig = { file: /^packages\/shared\/src\/config\// }

/** The calls whose arguments users read, with the kind of string. */
export const callRules: readonly CallRule[] = [
  ...rulesFor(
    'error',
    [0],
    [
      'invalidInput',
      'unauthorized',
      'forbidden',
      'notFound',
      'methodNotAllowed',
      'conflict',
      'tooLarge',
      'unsupportedMediaType',
      'busy',
      'timedOut',
      'cancelled',
      'unavailable',
      'Error',
      'RangeError',
      'TypeError',
      'InvalidArgumentError',
    ],
  ),
  ...rulesFor(
    'error',
    [1],
    ['Failure', 'AggregateError', 'damagedFile', 'wrongUsage', 'expect', 'assertValid'],
  ),
  ...rulesFor('error', [2], ['refuse', 'queryFailure']),
  ...rulesFor('error', [0], ['storageFailure'], inServers),
  ...rulesFor('error', [0], ['push', 'note'], { receiver: /problems$/ }),
  ...rulesFor('error', [0], ['propertyType'], inConfig),
  ...rulesFor('log', [0], ['error', 'warn', 'info', 'debug'], { receiver: /(^|\.)(logger|log)$/i }),
  ...rulesFor('log', [0], ['tell', 'over', 'report', 'resolve'], { receiver: /(log|own)$/i }),
  ...rulesFor('log', [1], ['setProblem']),
  ...rulesFor('help', [0], ['description', 'usage', 'showHelpAfterError'], inCli),
  ...rulesFor(
    'help',
    [1],
    ['option', 'requiredOption', 'argument', 'addHelpText', 'createOption', 'Option', 'Argument'],
    inCli,
  ),
  ...rulesFor('help', [1], ['helpOption'], inCli),
  ...rulesFor('help', [2], ['version'], inCli),
  ...rulesFor('openapi', [0], ['describe', 'noContent', 'errorResponse'], inServers),
  ...rulesFor('property', [1], ['property'], inConfig),
  ...rulesFor('metric', [0], ['counter', 'gauge'], inMetrics),
  ...rulesFor('output', [0], ['write'], { receiver: /(^|\.)(stdout|stderr|out|output|notes)$/ }),
  ...rulesFor('output', [0], ['log', 'error', 'warn', 'info'], { receiver: /^console$/ }),
  ...rulesFor('output', [0], ['print', 'onStep', 'onRound', 'tellProgress', 'showProgress', 'question']),
]

/** The properties of object literals that users read, with the kind of string, and those that they never see. */
export const propertyRules: readonly PropertyRule[] = [
  { kind: 'openapi', name: 'summary', ...inServers },
  { kind: 'openapi', name: 'description', ...inServers },
  { kind: 'error', name: 'error', ...inServers },
  { kind: 'error', name: 'subject', ...inServers },
  { kind: 'error', name: 'problem' },
  { kind: 'help', name: 'description', ...inCommands },
  { kind: 'answer', name: 'because', ...inServers },
  { kind: 'property', name: 'text', file: /^packages\/shared\/src\/config\/conditions\.ts$/ },
  { kind: 'monitoring', name: 'title', file: /dashboard\.json$/ },
  { kind: 'monitoring', name: 'label', file: /dashboard\.json$/ },
  { kind: 'monitoring', name: 'description', file: /dashboard\.json$/ },
  { kind: 'monitoring', name: 'legendFormat', file: /dashboard\.json$/ },
  { kind: 'code', name: 'applicationName' },
  // The plugins of the build.
  { kind: 'code', name: 'name', file: /^launcher\/bundle\.mjs$/ },
]

/** The kind of prose that no rule covers: the first entry whose pattern matches the file. */
export const kindsByFile: readonly (readonly [file: RegExp, kind: StringKind])[] = [
  [/^packages\/shared\/src\/openapi\//, 'openapi'],
  [/^packages\/shared\/src\/metrics\//, 'metric'],
  [/^packages\/shared\/src\/config\/propert/, 'property'],
  [/^(packages|services)\//, 'answer'],
  [/^console\//, 'console'],
  // The headings of the list of commands.
  [/^cli\/src\/commands\/index\.ts$/, 'help'],
  [/^/, 'output'],
]

/** Calls whose arguments are names, patterns or code for another program. */
export const codeCallees: ReadonlySet<string> = new Set([
  'all',
  'columns',
  'createHash',
  'enable',
  'endsWith',
  'exec',
  'getHeader',
  'hkdfSync',
  'identifier',
  'includes',
  'indexOf',
  'join',
  'lastIndexOf',
  'literal',
  'literalList',
  'match',
  'matchMedia',
  'ownText',
  'padEnd',
  'padStart',
  'prepare',
  'query',
  'RegExp',
  'rows',
  'run',
  'runTool',
  'setHeader',
  'split',
  'startsWith',
  'stream',
  'URL',
  'words',
])

/** What the name of an attribute of JSX says about its value. */
export const verdictsOfAttributes: ReadonlyMap<string, Verdict> = new Map([
  ...['alt', 'aria-label', 'label', 'placeholder', 'title'].map((name) => [name, 'console'] as const),
  ...['className', 'd', 'points', 'transform', 'viewBox'].map((name) => [name, 'code'] as const),
])

/** Methods that return the string they are called on, possibly changed or combined. */
export const passingMethods: ReadonlySet<string> = new Set([
  'at',
  'concat',
  'filter',
  'flat',
  'flatMap',
  'get',
  'join',
  'map',
  'padEnd',
  'padStart',
  'replace',
  'replaceAll',
  'slice',
  'toReversed',
  'trim',
  'trimEnd',
  'trimStart',
])

/** Functions that return the string they are given, possibly styled or stored. */
export const passingFunctions: ReadonlySet<string> = new Set([
  'Map',
  'Set',
  'String',
  'emphasized',
  'styleText',
])

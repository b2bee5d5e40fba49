import { findSources, readSource } from '../source-files.ts'
import { type FoundPhrase, findPhrases } from './find-phrases.ts'

const checkedFiles = [
  '*.{md,yml,yaml,cjs}',
  '{svc,container/svc,Dockerfile,.dependency-cruiser.cjs,.ci/run}',
  '.github/workflows/*.yml',
  '{clients,data,docs}/**/*.md',
  '{deploy,test}/**/*.{yml,yaml,sh,env,mjs}',
  'deploy/monitoring/dashboard.json',
  'launcher/**/*.{mjs,mts,md}',
  '{packages,services}/*/src/**/*.ts',
  '{cli,container}/src/**/*.ts',
  'console/{README.md,index.html,vite.config.ts,src/**/*.{ts,tsx}}',
  'clients/*/src/**/*.{ts,java}',
  'packages/shared/src/postgres/migrations/*.sql',
  'test/**/*.{ts,java}',
]
/** Generated files, recorded data, and the list of phrases itself. */
const notChecked = [
  '{CHANGELOG,LICENSE}*',
  'pnpm-lock.yaml',
  'docs/{metrics,properties,writing}.md',
  'test/fixtures/**',
  'cli/src/development/writing/*phrases*.ts',
]

/** Returns a line `file:line  [phrase] use: …` for each phrase to replace in files whose path contains `part`. */
export function checkWording(part = ''): readonly string[] {
  return findSources(checkedFiles, notChecked)
    .filter((file) => file.includes(part))
    .flatMap((file) => linesOf(file, findPhrases(file, readSource(file))))
}

const linesOf = (file: string, found: readonly FoundPhrase[]): readonly string[] =>
  found.map(({ line, phrase, instead }) => `${file}:${line}  [${phrase}] use: ${instead}`)

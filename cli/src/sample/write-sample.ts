import { createWriteStream, readFileSync } from 'node:fs'
import path from 'node:path'
import { finished, pipeline } from 'node:stream/promises'
import { describeError, invalidInput, notFound } from '@svc/domain/failure'
import { repositoryRoot } from '../home/index.ts'
import { type SampleOptions, sampleDays } from './sample-days.ts'

/** The flights that samples consist of: see data/README.md. */
const sourceFile = path.join(repositoryRoot, 'data/flights.csv')

/** Writes a CSV file with a header line, or to standard output for `-`. Throws invalidInput if the file exists. */
export async function writeSample(file: string, options: SampleOptions): Promise<void> {
  const [header = '', ...source] = readFileSync(sourceFile, 'utf8').trimEnd().split('\n')
  const text = (function* () {
    yield `${header}\n`
    yield* sampleDays(source, options)
  })()
  if (file === '-') {
    // A closed pipe, such as `| head`, is no failure.
    await pipeline(text, process.stdout, { end: false }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
    })
    return
  }
  try {
    const out = createWriteStream(file, { flags: 'wx' })
    await pipeline(text, out)
    await finished(out)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw invalidInput(`File [${file}] already exists. Choose another file, or delete this one.`)
    throw notFound(`Failed to write [${file}]: ${describeError(error)}`)
  }
}

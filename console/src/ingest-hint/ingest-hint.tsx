import { useCaller } from '../cluster/index.ts'
import { homeOption } from './home-option.ts'

const sample = 'data/flights.csv --datasource flights --timestamp time'

/** The command that loads a file into this cluster: by default, the sample data. */
export function IngestHint({ fileAndOptions = sample }: { readonly fileAndOptions?: string }) {
  const { data: caller } = useCaller()
  return (
    <pre>
      ./svc ingest {fileAndOptions} --wait-loaded{homeOption(caller?.authorityFile)}
    </pre>
  )
}

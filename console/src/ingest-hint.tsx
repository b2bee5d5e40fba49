import { useCaller } from './cluster/index.ts'
import { homeOption } from './home-option.ts'

const sample = 'data/flights.csv --datasource flights --timestamp time'

/** A command that loads a file into this cluster; without a file, the sample data. */
export function IngestHint({ what = sample }: { readonly what?: string }) {
  const { data: caller } = useCaller()
  return (
    <pre>
      ./svc ingest {what} --wait-loaded{homeOption(caller?.authorityFile)}
    </pre>
  )
}

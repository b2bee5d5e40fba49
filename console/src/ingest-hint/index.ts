/** How to load data into this cluster from the command line. */
export { IngestHint } from './ingest-hint.tsx'

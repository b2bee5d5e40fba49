import { parse } from 'yaml'

/** Returns the jobs for CI systems that a page shows. */
export function jobsOf(markdown: string): object[] {
  return [...markdown.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text]) => parse(text!) as object)
}

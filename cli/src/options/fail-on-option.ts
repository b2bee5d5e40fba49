import { Option } from 'commander'

/** Effects that make a command fail. */
export interface FailOnOption {
  readonly failOn?: string
}

/** Returns the option `--fail-on` of a command that shows a plan or a preview. */
export const failOnOption = (shown: 'plan' | 'preview'): Option =>
  new Option(
    '--fail-on <effects>',
    `Comma-separated effects that make the ${shown} fail with status 4, now or within the horizon: unqueryable, unused, underReplicated, doesNotFit`,
  )
